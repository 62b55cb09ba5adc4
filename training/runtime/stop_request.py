"""A stop request: a signal to save the state and end, within seconds.

Kubernetes sends SIGTERM to the first process of a pod; `training.pods.worker` forwards it to the ranks.
The launcher sends SIGUSR1, because mpirun forwards that signal instead of ending at it.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: The exit code of a rank that has saved its state and can resume: EX_TEMPFAIL.
STOPPED = os.EX_TEMPFAIL

_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class Stopped(Exception):
    """The run has saved its state and ends on request."""


class StopRequest:
    """Whether this rank got a stop request."""

    def __init__(self) -> None:
        """Handle the signals from now on; must run in the main thread."""
        self._received = False
        self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}

    @property
    def received(self) -> bool:
        """Whether a signal has arrived. Ranks must agree before one acts on it: the others would wait for it."""
        return self._received

    def end(self) -> None:
        """Leave the signals to the handlers before it: what follows the training has no state to save."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, *_: Any) -> None:
        self._received = True


@contextmanager
def blocked() -> Iterator[None]:
    """Block the stop signals; threads that start meanwhile keep them blocked until they end.

    The kernel gives a signal to any thread that does not block it, and Python runs the handler in the main thread: a
    main thread that waits would not wake up for a signal that another thread took.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_SIGNALS, signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
