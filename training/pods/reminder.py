"""When a wait prints how long it still is: for another number, and each minute."""

import time

_SECONDS = 60.0


class Reminder:
    """Remembers the last line of a wait."""

    def __init__(self) -> None:
        self._number, self._printed_at = 0, -_SECONDS

    def is_due(self, number: int) -> bool:
        """Return whether to print that the wait is for this number, and take it as printed then."""
        now = time.monotonic()
        if number == self._number and now - self._printed_at <= _SECONDS:
            return False
        self._number, self._printed_at = number, now
        return True
