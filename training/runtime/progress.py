"""The exchange of progress between all ranks, between two steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import ranks
from .every import Timer
from .loss_sum import LossSum
from .steps import Steps
from .stop_request import StopRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchanged:
    """The progress of all ranks, the same on each."""

    stop: bool
    """Whether any rank got a stop request."""
    due: Sequence[bool]
    """For each timer, whether its minutes have passed on rank zero's clock."""
    losses: LossSum
    """Losses of all ranks since the exchange before."""
    finite_losses: LossSum
    """Without the steps whose losses were not finite."""
    speeds: NDArray[np.float64]
    """Images per second of each rank since the exchange before."""
    waits: NDArray[np.float64]
    """The share of that time in which each rank waited for images."""


class Progress:
    """The exchanges of a start of the run."""

    def __init__(self, steps: Steps, stop: StopRequest, timers: Sequence[Timer]) -> None:
        """Exchange nothing yet.

        Args:
            steps: Steps of this rank.
            stop: The stop request of this rank.
            timers: Whose minutes count on rank zero only.
        """
        self._steps, self._stop, self._timers = steps, stop, timers
        self._steps_before = 0

    def exchange(self) -> Exchanged:
        """Wait for the step in flight, and exchange the progress since the last exchange."""
        self._steps.finish()
        losses, finite = self._steps.take_losses()
        throughput = self._steps.throughput
        recent = throughput.recent(throughput.steps - self._steps_before)
        self._steps_before = throughput.steps
        own = [self._stop.received, *recent, *(timer.due for timer in self._timers), *losses.vector, *finite.vector]
        # A stop request of one rank is enough, and all ranks learn of it after the same step.
        rows = ranks.current().rows(np.array(own, np.float64), "progress")
        others = 3 + len(self._timers)
        losses.vector, finite.vector = np.split(rows[:, others:].sum(axis=0), 2)
        return Exchanged(
            stop=bool(rows[:, 0].any()),
            # One clock decides, so that all ranks save after the same step.
            due=[bool(each) for each in rows[0, 3:others]],
            losses=losses,
            finite_losses=finite,
            speeds=rows[:, 1],
            waits=rows[:, 2],
        )
