"""Run training.resnet50 as tiny_resnet50 does, as if Horovod were not installed."""

import sys

import tests.training.without_horovod  # noqa: F401
from tests.training.resnet50 import tiny_resnet50  # noqa: F401
from training.resnet50.__main__ import start

if __name__ == "__main__":
    sys.exit(start())
