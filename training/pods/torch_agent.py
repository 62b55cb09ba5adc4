"""Run a worker's torchrun, and end it when a rank reports a user's error.

python -m training.pods.torch_agent -- torchrun --nnodes 1:4 … --no-python python -m training.torch_imagenet …

Torchrun starts ranks again whatever their exit codes are, and ends with 1. Here a rank that meets a user's error writes
it into a file; this program then ends torchrun, and ends with code 2, at which the Job fails at once: a restart would
repeat the error on all GPUs. So does a run that has cost as much as it may, after a stop request to its ranks.
Ranks that torchrun starts again may repeat their training: a line in the log names it.
Kubernetes ends a worker with SIGTERM, which torchrun forwards to the ranks.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from training.pods import job_end
from training.pods.cost_cap import CostCap, OwnCostFile
from training.pods.first_process import Child, command_like
from training.pods.ranks_output import RanksOutput
from training.pods.repeated_training import Starts
from training.runtime import options
from training.runtime.command_line import positive_number
from training.runtime.errors import USER_ERROR, UserError
from training.runtime.options import option
from training.runtime.torchrun_environment import USER_ERROR_FILE

# Between two looks for the file. Torchrun takes longer to start ranks again.
_PAUSE_SECONDS = 0.2

# Between two looks for other ranks than before. New ones import PyTorch, and print nothing so soon.
_LOOK_SECONDS = 2.0

# Ranks that wait for the one with the error, which has ended, do not save anything: as the launcher of an MPIJob.
_KILL_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line."""

    max_cost: float | None = option(positive_number, "dollars that the run may cost, over all its starts", default=None)
    usd_per_hour: float = option(positive_number, "price of all workers, for '--max-cost'", default=0.0)
    command: tuple[str, ...] = option(command_like("torchrun"), "-- torchrun …", rest=True)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line; the words after '--' become `command`."""
    return options.parse(Settings, "training.pods.torch_agent", __doc__, arguments)


def cost_cap(settings: Settings) -> CostCap | None:
    """Return the cap of the run's cost; None where it has none. The agent of each worker counts for all workers."""
    if settings.max_cost is None:
        return None
    return CostCap(settings.max_cost, settings.usd_per_hour, OwnCostFile(settings.command), lambda: ["all"])


def run(command: Sequence[str], reported: Path, cap: CostCap | None = None) -> int:
    """Run torchrun to its end, and return its exit code.

    Args:
        command: Torchrun's.
        reported: Where a rank writes a user's error.
        cap: Cap of the run's cost. Default: none.

    Raises:
        UserError: A rank has reported one.
        JobEnd: The run has cost what it may.
    """
    if cap:
        cap.begin(())
    os.environ[USER_ERROR_FILE] = str(reported)
    starts = Starts()
    output = RanksOutput(starts)
    ended, torchrun = threading.Event(), Child(command, output.ends)
    output.start()
    look = _restart_detector(torchrun, starts)

    def end_at_an_error() -> None:
        while not ended.wait(_PAUSE_SECONDS):
            look()
            if reported.exists():
                torchrun.send(signal.SIGTERM)
                if not ended.wait(_KILL_SECONDS):
                    torchrun.send(signal.SIGKILL)
                return

    watching = threading.Thread(target=end_at_an_error, name="end-at-an-error")
    watching.start()
    stop, kill = partial(torchrun.send, signal.SIGTERM), partial(torchrun.send, signal.SIGKILL)
    with cap.limit(stop, kill) if cap else nullcontext():
        while torchrun.wait_for_stop_request():
            torchrun.send(signal.SIGTERM)
    ended.set()
    watching.join()
    output.finish()
    code = torchrun.code or 0
    if code and cap and cap.is_reached:
        raise cap.end(f"torchrun ended with exit code {code}")
    if code and reported.exists():
        message = reported.read_text(encoding="utf-8")
        raise UserError(f"{message}. A restart would repeat it: cancel the job, fix it, submit it again")
    return code


def _restart_detector(torchrun: Child, starts: Starts) -> Callable[[], None]:
    """Return a function that looks for other ranks than before: torchrun does not print that it starts them again."""
    starts.begin()
    ranks, looked = frozenset[int](), time.monotonic()

    def look() -> None:
        nonlocal ranks, looked
        if time.monotonic() - looked < _LOOK_SECONDS:
            return
        looked, found = time.monotonic(), frozenset[int]()
        with suppress(psutil.Error):
            found = frozenset(each.pid for each in psutil.Process(torchrun.pid).children())
        # Torchrun may have a child that is no rank.
        if found and ranks - found and len(found - ranks) >= len(found & ranks):
            starts.begin()
        ranks = found or ranks

    return look


def main(arguments: Sequence[str] | None = None, termination_log: Path = job_end.TERMINATION_LOG) -> int:
    """Run the program and return its exit code: torchrun's, or 2 for a user's error."""
    try:
        settings = parse(arguments)
        with tempfile.TemporaryDirectory(prefix="torch-agent-") as folder:
            return run(settings.command, Path(folder) / "user-error", cost_cap(settings))
    except (UserError, job_end.JobEnd) as error:
        job_end.show(str(error), termination_log)
        return USER_ERROR


if __name__ == "__main__":
    sys.exit(main())
