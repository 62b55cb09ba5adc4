"""Train Mask R-CNN: mpirun -np 8 python -m training.mask_rcnn --data-dir /fsx/data/coco --output-dir /fsx/runs/a."""

import sys

from training.mask_rcnn.settings import parse
from training.mask_rcnn.training_job import make_job, prepare
from training.runtime import horovod_ranks, training_run, watchdog
from training.runtime.distributed import run
from training.runtime.stop_request import StopRequest


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    stop = StopRequest()
    prepared = prepare(parse())
    network = prepared.network
    training_run.train(lambda: make_job(prepared).task(), [*network.variables, *network.statistics], stop)


if __name__ == "__main__":
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    # Horovod: find the other ranks; without mpirun this one is alone.
    horovod_ranks.init()
    sys.exit(run(main))
