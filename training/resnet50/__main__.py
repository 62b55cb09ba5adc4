"""Train ResNet-50: mpirun -np 8 python -m training.resnet50 --data-dir /fsx/data/imagenet --output-dir /fsx/runs/a."""

import sys

from training.resnet50.settings import parse
from training.resnet50.training_job import make_job, prepare
from training.runtime import horovod_ranks, training_run, watchdog
from training.runtime.distributed import run
from training.runtime.stop_request import StopRequest


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    stop = StopRequest()
    settings, device, network = prepare(parse())
    variables = [*network.variables, *network.statistics]
    training_run.train(lambda: make_job(settings, device, network).task(), variables, stop)


if __name__ == "__main__":
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    # Horovod: find the other ranks; without mpirun this one is alone.
    horovod_ranks.init()
    sys.exit(run(main))
