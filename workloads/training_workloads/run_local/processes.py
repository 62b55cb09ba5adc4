"""The processes of a run, and how all of them end with it, whatever way it ends."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil

__all__ = ["Family", "caught_signals", "end_with_parent"]

# https://man7.org/linux/man-pages/man2/prctl.2.html
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# How long a rank may take to end in order, and the kernel to remove what was killed.
_GRACE_SECONDS = 5.0
_PAUSE_SECONDS = 0.05

# How often in a row nobody must be found before all are taken for gone.
_LOOKS = 3

_LIBC = ctypes.CDLL(None)


class Family:
    """What a launcher starts, and what that starts, also where the one that started it is gone.

    mpirun gives each rank a process group of its own, so that no signal to a group reaches all of them. On Linux an
    orphan becomes a child of this process, of no other: that way nothing gets lost.
    """

    def __init__(self) -> None:
        """Begins before the launcher is started: the children that there are now belong to somebody else."""
        self._others = set(psutil.Process().children())

    @contextlib.contextmanager
    def adopted(self) -> Iterator[None]:
        """Takes in orphans for as long as this lasts."""
        _adopt_orphans(True)
        try:
            yield
        finally:
            _adopt_orphans(False)

    def members(self) -> list[psutil.Process]:
        """The processes that run now."""
        found: list[psutil.Process] = []
        for child in psutil.Process().children():
            if child not in self._others:
                with contextlib.suppress(psutil.NoSuchProcess):
                    found += [child, *child.children(recursive=True)]
        return [process for process in found if _runs(process)]

    def end(self, launcher: subprocess.Popen[bytes], meanwhile: Callable[[float], object]) -> None:
        """Ends every process: first in order, after some seconds by force; takes 10 seconds at most.

        Args:
            launcher: The launcher; it ends its ranks itself where it still runs.
            meanwhile: Called again and again with the seconds that it may take, such as to pass on output.
        """
        asked = self.members()
        if launcher.poll() is None:
            launcher.terminate()
        else:
            _send(asked, signal.SIGTERM)
        if not self._gone(launcher, meanwhile, kill=False):
            self._gone(launcher, meanwhile, kill=True)
        self._reap(launcher)

    def _gone(self, launcher: subprocess.Popen[bytes], meanwhile: Callable[[float], object], *, kill: bool) -> bool:
        deadline, nobody = time.monotonic() + _GRACE_SECONDS, 0
        # Several times, because an orphan is nobody's child for whoever looks while it changes hands.
        while nobody < _LOOKS:
            left = [process for process in self.members() if process.pid != launcher.pid or launcher.poll() is None]
            nobody = 0 if left else nobody + 1
            if left and time.monotonic() > deadline:
                return False
            if kill:
                _send(left, signal.SIGKILL)
            meanwhile(_PAUSE_SECONDS)
        launcher.wait()
        return True

    def _reap(self, launcher: subprocess.Popen[bytes]) -> None:
        """Orphans that were taken in leave their exit status behind, which nobody else asks for."""
        for child in psutil.Process().children():
            if child not in self._others and child.pid != launcher.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)


@contextlib.contextmanager
def caught_signals() -> Iterator[list[signal.Signals]]:
    """Notes the signals that ask this program to end, instead of ending at once; gives the list of those that came.

    One that is ignored, as SIGHUP below `nohup`, stays so.
    """
    came: list[signal.Signals] = []
    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.getsignal(number) for number in asking}
    caught = {number: handler for number, handler in previous.items() if handler is not signal.SIG_IGN}
    for number in caught:
        signal.signal(number, lambda number, _: came.append(signal.Signals(number)))
    try:
        yield came
    finally:
        for number, handler in caught.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """Asks Linux to end the calling process when its parent is gone; for between fork and exec."""
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


def _send(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
