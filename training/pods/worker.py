"""Run a worker's sshd, and end its ranks in order when Kubernetes deletes the worker.

python -m training.pods.worker -- /usr/sbin/sshd -De -f /home/mpiuser/.sshd_config

Kubernetes sends SIGTERM to a pod's first process (Spot, a drained node, `kubectl delete`). An sshd there would end at
once, and the kernel would kill every rank with it. This program ends sshd, forwards the signal to the ranks, and waits
until they have saved a checkpoint. The pod's `terminationGracePeriodSeconds` limits that time.
"""

import ctypes
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from training.pods import first_process
from training.pods.first_process import Child, command_like
from training.runtime import command_line, options
from training.runtime.options import option

# The variables with a process's rank: of Open MPI 4 and 5, and of horovodrun.
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK")

# https://man7.org/linux/man-pages/man2/prctl.2.html
_PR_SET_CHILD_SUBREAPER = 36

_PAUSE_SECONDS = 0.1

# The time in which sshd ends after SIGTERM.
_SSHD_SECONDS = 5.0

# The parents of the ranks (orted, prted, an ssh session) still have to send the ranks' last lines and exit codes, and
# the kernel would kill them with this process. They end when the launcher does.
_SESSION_SECONDS = 10.0

_TERMINATED = first_process.SIGNAL_CODES + signal.SIGTERM


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line."""

    command: tuple[str, ...] = option(command_like("/usr/sbin/sshd"), "-- /usr/sbin/sshd -De …", rest=True)


def adopt_orphans() -> None:
    """Make this process the parent of orphans below it, as a container's first process is."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def ranks() -> list[psutil.Process]:
    """Return the ranks that this process's sshd started, without the processes that a rank started."""
    found = {process.pid: process for process in psutil.Process().children(recursive=True) if _has_rank(process)}
    return [process for process in found.values() if _parent(process) not in found]


def _has_rank(process: psutil.Process) -> bool:
    # No other process may read the variables of sshd's processes; an ended process has none.
    with suppress(psutil.Error):
        return not process.environ().keys().isdisjoint(_RANK_VARIABLES)
    return False


def _parent(process: psutil.Process) -> int | None:
    with suppress(psutil.Error):
        return int(process.ppid())
    return None


def end_ranks(sshd: Child) -> None:
    """End sshd, then the ranks; return when they have ended and the launcher has their exit codes."""
    # First sshd, so that no rank can start any more. The processes that it started become children of this process.
    sshd.send(signal.SIGTERM)
    _wait(sshd, lambda: sshd.code is not None, _SSHD_SECONDS)
    started, signalled = time.monotonic(), set[int]()
    while running := ranks():
        if not signalled:
            print(f"stop request: sends SIGTERM to its ranks ({len(running)}) and waits for them", flush=True)
        for rank in running:
            if rank.pid not in signalled:
                with suppress(psutil.Error):
                    rank.terminate()
        signalled |= {rank.pid for rank in running}
        _wait(sshd, lambda: False, _PAUSE_SECONDS)
    if signalled:
        print(f"the ranks have ended after {time.monotonic() - started:.0f} seconds", flush=True)
        _wait(sshd, lambda: not psutil.Process().children(), _SESSION_SECONDS)


def _wait(sshd: Child, done: Callable[[], bool], seconds: float) -> None:
    """Wait for a condition, at most for some seconds, and reap children meanwhile."""
    deadline = time.monotonic() + seconds
    sshd.reap()
    while not done() and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
        sshd.reap()


def run(settings: Settings) -> int:
    """Run sshd to its end and return its exit code, or 143 after a stop request."""
    adopt_orphans()
    sshd = Child(settings.command)
    if sshd.wait_for_stop_request():
        end_ranks(sshd)
        return _TERMINATED
    return sshd.code or 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return command_line.exit_code(lambda: run(options.parse(Settings, "training.pods.worker", __doc__, arguments)))


if __name__ == "__main__":
    sys.exit(main())
