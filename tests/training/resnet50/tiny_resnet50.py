"""Run training.resnet50 with a network of one block and a line for every step; the rest is the same."""

import sys

import horovod.tensorflow as hvd

from training.resnet50 import model, trainer
from training.resnet50.__main__ import main
from training.runtime import watchdog
from training.runtime.distributed import run

# Traced in a second instead of twelve.
model.build = lambda image_size, classes: model.network(image_size, classes, blocks=(1,), width=8)
trainer._EXCHANGE_STEPS = 1
trainer._SECONDS_BETWEEN_LINES = 0.0
trainer._WARM_UP_STEPS = 2

if __name__ == "__main__":
    watchdog.limit()
    hvd.init()
    sys.exit(run(main))
