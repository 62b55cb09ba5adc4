"""A stop request: a signal to save the state and end, within seconds.

Kubernetes sends SIGTERM to the first process of a pod; `training.pods.worker` forwards it to the ranks.
The launcher sends SIGUSR1, because mpirun forwards that signal instead of ending at it.
"""

import os
import signal
from typing import Any

#: The exit code of a rank that has saved its state and can resume: EX_TEMPFAIL.
STOPPED = os.EX_TEMPFAIL


class Stopped(Exception):
    """The run has saved its state and ends on request."""


class StopRequest:
    """Whether this rank got a stop request."""

    def __init__(self) -> None:
        """Handle the signals from now on; must run in the main thread."""
        self._received = False
        for number in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, self._note)

    @property
    def received(self) -> bool:
        """Whether a signal has arrived. Ranks must agree before one acts on it: the others would wait for it."""
        return self._received

    def _note(self, *_: Any) -> None:
        self._received = True
