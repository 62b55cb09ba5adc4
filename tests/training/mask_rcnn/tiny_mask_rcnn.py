"""Run training.mask_rcnn, or its evaluation, with a tiny network and a line for every step; the rest is the same."""

import dataclasses
import sys
from unittest import mock

from tests.training.mask_rcnn.made_batch import TINY
from training.mask_rcnn import __main__ as training
from training.mask_rcnn import evaluate
from training.mask_rcnn.architecture import ARCHITECTURES
from training.records.image_job import ImageJob
from training.runtime import horovod_ranks, lines, loop, watchdog
from training.runtime.distributed import run
from training.runtime.task import Plan

ARCHITECTURES["small"] = TINY
loop._EXCHANGE_STEPS = 1
lines._SECONDS_BETWEEN_LINES = 0.0
evaluate._SECONDS = 0.5

plan_of = ImageJob.plan


def plan(job: ImageJob) -> Plan:
    return dataclasses.replace(plan_of(job), warm_up_steps=2)


mock.patch.object(ImageJob, "plan", plan).start()

if __name__ == "__main__":
    program = evaluate.main if sys.argv[1] == "evaluate" else training.main
    del sys.argv[1]
    watchdog.limit()
    horovod_ranks.init()
    sys.exit(run(program))
