"""Run training.resnet50 with a network of one block and a line for every step; the rest is the same."""

import dataclasses
import sys
from unittest import mock

from training.records.image_job import ImageJob
from training.resnet50 import model
from training.resnet50.__main__ import start
from training.runtime import lines, loop
from training.runtime.task import Plan

# Traced in a second instead of twelve.
model.build = lambda image_size, classes: model.network(image_size, classes, blocks=(1,), width=8)
loop._EXCHANGE_STEPS = 1
lines._SECONDS_BETWEEN_LINES = 0.0

plan_of = ImageJob.plan


def plan(job: ImageJob) -> Plan:
    return dataclasses.replace(plan_of(job), warm_up_steps=2)


mock.patch.object(ImageJob, "plan", plan).start()

if __name__ == "__main__":
    sys.exit(start())
