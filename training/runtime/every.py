"""How often a run saves or evaluates: every so many steps, epochs or minutes."""

import argparse
import re
import time
from dataclasses import dataclass

_RETRY_SECONDS = 60.0

_FORM = re.compile(r"([1-9][0-9]{0,8})(steps?|epochs?|min)")


@dataclass(frozen=True, slots=True)
class Every:
    """A number of steps, epochs or minutes."""

    count: int
    unit: str
    """`steps`, `epochs` or `min`."""

    def __str__(self) -> str:
        return f"{self.count}{self.unit.removesuffix('s') if self.count == 1 else self.unit}"

    def after_step(self, step: int) -> bool:
        """Return whether it is due after this step of the run, the same on every rank."""
        return self.unit == "steps" and step % self.count == 0

    def after_epoch(self, epoch: int) -> bool:
        """Return whether it is due after this number of finished epochs, the same on every rank."""
        return self.unit == "epochs" and epoch % self.count == 0

    def after_seconds(self, seconds: float) -> bool:
        """Return whether it is due this long after the last time. Ranks must agree first: their clocks differ."""
        return self.unit == "min" and seconds >= 60 * self.count

    def exceeds(self, *, steps: int, epochs: int) -> bool:
        """Return whether it is longer than a run of so many steps and epochs; False for minutes."""
        return self.count > {"steps": steps, "epochs": epochs, "min": self.count}[self.unit]


class Timer:
    """The time since something happened the last time in this start of the run."""

    def __init__(self, every: Every) -> None:
        """Start now."""
        self._every = every
        self.restart()

    def restart(self) -> None:
        """Start again: it has happened."""
        # The monotonic clock: a wall clock that is set would delay a save for hours.
        self._since, self._retry = time.monotonic(), False

    def retry(self) -> None:
        """Be due after a minute: the last try has failed."""
        self._retry = True

    @property
    def due(self) -> bool:
        """Whether the minutes have passed on this rank's clock, or one minute after a failure."""
        seconds = time.monotonic() - self._since
        return self._every.after_seconds(seconds) or (self._retry and seconds >= _RETRY_SECONDS)


def every(text: str) -> Every:
    """Return the value of an option such as `500steps`, `2epochs` or `10min`."""
    found = _FORM.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(
            f"is {text!r}; give a whole number of steps, epochs or minutes, such as 500steps, 2epochs or 10min"
        )
    unit = found[2] if found[2] == "min" else f"{found[2].rstrip('s')}s"
    return Every(int(found[1]), unit)
