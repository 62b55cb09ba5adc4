"""The processes of a run: find all of them, and end them with it, however it ends."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil

__all__ = ["Family", "caught_signals", "end_with_parent", "send"]

# https://man7.org/linux/man-pages/man2/prctl.2.html
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# How long a rank may take to end in order, and the kernel to remove killed processes.
_GRACE_SECONDS = 5.0
_PAUSE_SECONDS = 0.02

# How often in a row no process must be found before the run counts as ended.
_LOOKS = 3

_LIBC = ctypes.CDLL(None)


class Family:
    """The processes that a launcher starts, directly or not, with those whose parent has ended.

    mpirun gives each rank a separate process group, so no signal to a group reaches all of them. On Linux an orphan
    becomes a child of this process, so none is lost.
    """

    def __init__(self) -> None:
        """Begin before the launcher is started: existing children do not belong to the run."""
        self._others = set(psutil.Process().children())

    @contextlib.contextmanager
    def adopted(self) -> Iterator[None]:
        """Adopt orphans inside this context."""
        _adopt_orphans(True)
        try:
            yield
        finally:
            _adopt_orphans(False)

    def members(self) -> list[psutil.Process]:
        """Return the processes that run now."""
        found: list[psutil.Process] = []
        for child in psutil.Process().children():
            if child not in self._others:
                with contextlib.suppress(psutil.NoSuchProcess):
                    found += [child, *child.children(recursive=True)]
        return [process for process in found if _runs(process)]

    def left_behind(self, launcher: subprocess.Popen[bytes]) -> list[psutil.Process]:
        """Return the processes that the ranks have left running, once every rank has ended; none before."""
        children = [child for child in psutil.Process().children() if child not in self._others and _runs(child)]
        if any(_runs(rank) for child in children if child.pid == launcher.pid for rank in child.children()):
            return []
        return [child for child in children if child.pid != launcher.pid]

    def end(self, launcher: subprocess.Popen[bytes], meanwhile: Callable[[float], object]) -> None:
        """End every process: with SIGTERM, after some seconds with SIGKILL; this takes 10 seconds at most.

        A launcher that still runs ends its ranks itself. `meanwhile` is called repeatedly with the seconds that it may
        take, for example to forward output.
        """
        members = self.members()
        if launcher.poll() is None:
            launcher.terminate()
        else:
            send(members, signal.SIGTERM)
        if not self._gone(launcher, meanwhile, kill=False):
            self._gone(launcher, meanwhile, kill=True)
        self._reap(launcher)

    def _gone(self, launcher: subprocess.Popen[bytes], meanwhile: Callable[[float], object], *, kill: bool) -> bool:
        deadline, looks = time.monotonic() + _GRACE_SECONDS, 0
        # Several times, because an orphan has no parent for a moment before it is adopted.
        while looks < _LOOKS:
            left = [process for process in self.members() if process.pid != launcher.pid or launcher.poll() is None]
            looks = 0 if left else looks + 1
            if left and time.monotonic() > deadline:
                return False
            if kill:
                send(left, signal.SIGKILL)
            meanwhile(_PAUSE_SECONDS)
        launcher.wait()
        return True

    def _reap(self, launcher: subprocess.Popen[bytes]) -> None:
        """Read the exit status of adopted orphans: otherwise they remain as zombies."""
        for child in psutil.Process().children():
            if child not in self._others and child.pid != launcher.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)


@contextlib.contextmanager
def caught_signals() -> Iterator[list[signal.Signals]]:
    """Collect the signals that end a program instead of ending at once; yield the list of those received.

    A signal that is ignored, such as SIGHUP under `nohup`, stays ignored.
    """
    received: list[signal.Signals] = []
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.getsignal(number) for number in ending}
    caught = {number: handler for number, handler in previous.items() if handler is not signal.SIG_IGN}
    for number in caught:
        signal.signal(number, lambda number, _: received.append(signal.Signals(number)))
    try:
        yield received
    finally:
        for number, handler in caught.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """Make Linux end the calling process when its parent ends; call it between fork and exec."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _adopt_orphans(yes: bool) -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, int(yes))


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def send(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to processes, of which some may have ended."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
