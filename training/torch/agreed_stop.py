"""When all ranks stop together: they exchange stop requests about once in a second."""

import math
import time

import numpy as np

from ..runtime import ranks, watchdog
from ..runtime.every import Every, Timer
from ..runtime.stop_request import StopRequest

# Between two exchanges: a stop request has 30 seconds, and an exchange takes about a millisecond.
_SECONDS = 1.0


class AgreedStop:
    """The stop requests of all ranks, and the time of the next checkpoint by rank zero's clock."""

    def __init__(self, every: Every) -> None:
        """Handle the signals from now on.

        Args:
            every: How often a checkpoint is due.
        """
        self._request, self._every, self._timer = StopRequest(), every, Timer(every)
        self._steps, self._until_exchange, self._ended = 0, 1, time.monotonic()

    def after_step(self, step: int) -> tuple[bool, bool]:
        """Return whether the ranks stop, and whether they save; every rank must call it after each step."""
        watchdog.progress()
        save = self._every.after_step(step)
        self._until_exchange -= 1
        if self._until_exchange > 0:
            return False, save
        seconds, self._ended = time.monotonic() - self._ended, time.monotonic()
        steps = math.ceil(self._steps * _SECONDS / max(seconds, 1e-6)) if self._steps else 1
        rows = ranks.current().rows(np.array([self._request.received, self._timer.due, steps], np.float64), "stop")
        self._steps = self._until_exchange = max(1, int(rows[0, 2]))
        return bool(rows[:, 0].any()), save or bool(rows[0, 1])

    def saved(self) -> None:
        """Count the minutes to the next checkpoint from now on."""
        self._timer.restart()
