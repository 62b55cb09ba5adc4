"""Run training.resnet50 as tiny_resnet50 does, as if Horovod were not installed."""

import sys

import tests.training.resnet50.tiny_resnet50
import tests.training.without_horovod  # noqa: F401
from training.resnet50 import __main__

if __name__ == "__main__":
    sys.exit(__main__.start())
