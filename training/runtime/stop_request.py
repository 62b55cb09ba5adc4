"""A run that is asked to end, with some seconds to save its state.

Kubernetes sends SIGTERM to the first process of a pod; `training.pods.worker` forwards it to the ranks.
The launcher sends SIGUSR1, because mpirun forwards that signal instead of ending at it.
"""

import os
import signal
from typing import Any

#: The exit code of a rank that has saved its state and would go on if it were started again: EX_TEMPFAIL.
EXIT_CODE = os.EX_TEMPFAIL


class Stopped(Exception):
    """The run has saved its state and ends because it was asked to."""


class StopRequest:
    """Whether this rank was asked to end."""

    def __init__(self) -> None:
        """Takes the signals from now on; to be made in the main thread."""
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, self._note)

    @property
    def asked(self) -> bool:
        """Whether a signal has come. Ranks must agree before one of them acts on it: the others would wait for it."""
        return self._asked

    def _note(self, *_: Any) -> None:
        self._asked = True
