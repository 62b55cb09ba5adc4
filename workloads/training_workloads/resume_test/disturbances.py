"""Disturbances of a run, at moments that follow from a seed."""

import contextlib
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from training_workloads.resume_test.observed_start import ObservedStart

__all__ = ["Disturbance", "disturbances"]

_LAUNCHER = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class Disturbance:
    """A signal to one process of a run."""

    rank: int
    """Whom it hits; -1 for the launcher."""
    number: signal.Signals
    """SIGKILL as when a process or a node is lost, SIGTERM as a stop request of Spot or an eviction."""
    delay: float
    """Part of an undisturbed training, from its first printed loss on."""

    @property
    def what(self) -> str:
        """The disturbance in words."""
        whom = "the launcher" if self.rank == _LAUNCHER else f"rank {self.rank}"
        return f"{self.number.name} to {whom}"

    def inject(self, start: ObservedStart) -> bool:
        """Send the signal, and return whether the process still ran."""
        process = start.launcher() if self.rank == _LAUNCHER else start.rank(self.rank)
        if process is None:
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(self.number)
            return True
        return False


def disturbances(number: int, ranks: int, seed: int) -> Iterator[Disturbance]:
    """Yield so many disturbances: of ten six kill a rank, two the launcher, and two are stop requests.

    More of them come early than late: a program that saves once an epoch loses most of them, and still gets to its end.
    """
    draw = random.Random(seed)
    for _ in range(number):
        kind = draw.random()
        yield Disturbance(
            rank=_LAUNCHER if 0.6 <= kind < 0.8 else draw.randrange(ranks),
            number=signal.SIGTERM if kind >= 0.8 else signal.SIGKILL,
            delay=draw.random() ** 2,
        )
