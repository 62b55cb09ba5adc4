"""Train ResNet-50: mpirun -np 8 python -m training.resnet50 --data-dir /fsx/data/imagenet --output-dir /fsx/runs/a."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence

from training.resnet50.settings import parse, strategy_of
from training.resnet50.training_job import make_job, prepare
from training.runtime import command_line, training_run, watchdog
from training.runtime.distributed import run
from training.runtime.errors import UserError
from training.runtime.stop_request import StopRequest


def find_ranks(arguments: Sequence[str]) -> None:
    """Find the other ranks by the strategy of a command line; without mpirun this one is alone.

    Raises:
        UserError: The strategy cannot be used here.
    """
    strategy = strategy_of(arguments)
    if strategy == "horovod" and importlib.util.find_spec("horovod") is None:
        raise UserError("'--strategy' is horovod, which is not installed; give '--strategy multiworker'")
    # Here: one runs where the other's software is not.
    importlib.import_module(f"training.runtime.{strategy}_ranks").init()


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    stop = StopRequest()
    settings, device, network = prepare(parse())
    variables = [*network.variables, *network.statistics]
    training_run.train(lambda: make_job(settings, device, network).task(), variables, stop)


def start() -> int:
    """Run the program and return its exit code."""
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    # Without the other ranks each reports its error itself.
    return command_line.exit_code(lambda: find_ranks(sys.argv[1:])) or run(main)


if __name__ == "__main__":
    sys.exit(start())
