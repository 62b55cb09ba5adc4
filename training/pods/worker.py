"""Runs a worker's sshd, and lets the ranks that it started end in order when the worker is to go.

python -m training.pods.worker -- /usr/sbin/sshd -De -f /home/mpiuser/.sshd_config

Kubernetes sends SIGTERM to the first process of a pod (Spot, a drained node, `kubectl delete`). An sshd there would end
at once, and the kernel would kill every rank with it. This one closes the door, hands the signal on to the ranks, and
stays until they have saved their state; how long that may take is the pod's `terminationGracePeriodSeconds`.
"""

import argparse
import ctypes
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

from training.pods import first_process
from training.pods.first_process import Child
from training.runtime import command_line
from training.runtime.errors import UserError

# Which of several a process is: set by Open MPI 4 and 5, and by horovodrun.
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK")

# https://man7.org/linux/man-pages/man2/prctl.2.html
_PR_SET_CHILD_SUBREAPER = 36

_PAUSE_SECONDS = 0.1

# An sshd that was asked to end has done so by then.
_SSHD_SECONDS = 5.0

# What started the ranks (orted, prted, an ssh session) still has their last lines and their exit codes to send, and
# would be killed with this process. It ends by itself when the launcher does.
_TELLING_SECONDS = 10.0

_TERMINATED = first_process.SIGNAL_CODES + signal.SIGTERM


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line; what stands after '--' becomes `command`."""
    parser = command_line.Parser(prog="python -m training.pods.worker", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- /usr/sbin/sshd -De …")
    given = parser.parse_args(arguments)
    given.command = first_process.command_of(given.command, "/usr/sbin/sshd")
    return given


def adopt_orphans() -> None:
    """Makes orphans children of this process, which those of a container's first process are anyway."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def ranks() -> list[psutil.Process]:
    """The ranks that this process's sshd started; of what a rank has started itself, nothing."""
    found = {process.pid: process for process in psutil.Process().children(recursive=True) if _has_rank(process)}
    return [process for process in found.values() if _parent(process) not in found]


def _has_rank(process: psutil.Process) -> bool:
    # sshd's own processes let nobody read their variables; one that has ended has none.
    with suppress(psutil.Error):
        return not process.environ().keys().isdisjoint(_RANK_VARIABLES)
    return False


def _parent(process: psutil.Process) -> int | None:
    with suppress(psutil.Error):
        return process.ppid()
    return None


def end_ranks(sshd: Child) -> None:
    """Ends sshd and then the ranks, and returns when they have ended and the launcher knows how."""
    # First, so that no rank can be started any more. What it has started lives on, as children of this process.
    sshd.send(signal.SIGTERM)
    _wait(sshd, lambda: sshd.code is not None, _SSHD_SECONDS)
    started, told = time.monotonic(), set[int]()
    while there := ranks():
        if not told:
            print(f"asked to end: sends SIGTERM to its ranks ({len(there)}) and waits for them", flush=True)
        for rank in there:
            if rank.pid not in told:
                with suppress(psutil.Error):
                    rank.terminate()
        told |= {rank.pid for rank in there}
        _wait(sshd, lambda: False, _PAUSE_SECONDS)
    if told:
        print(f"the ranks have ended after {time.monotonic() - started:.0f} seconds", flush=True)
        _wait(sshd, lambda: not psutil.Process().children(), _TELLING_SECONDS)


def _wait(sshd: Child, done: Callable[[], bool], seconds: float) -> None:
    """Waits until something is so, for some seconds at most, and reaps what ends meanwhile."""
    deadline = time.monotonic() + seconds
    sshd.reap()
    while not done() and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
        sshd.reap()


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to sshd's exit code, or to 143 where this process was asked to end."""
    try:
        command = parse_options(arguments).command
    except UserError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    adopt_orphans()
    sshd = Child(command)
    if sshd.asked_to_end():
        end_ranks(sshd)
        return _TERMINATED
    return sshd.code or 0


if __name__ == "__main__":
    sys.exit(main())
