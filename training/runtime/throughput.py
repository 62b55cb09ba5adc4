"""The speed of a run in images per second, of each rank and of all."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import ranks


class Throughput:
    """Measures one rank's speed, without the first steps: they compile the graph and fill caches."""

    def __init__(self, skip: int = 5) -> None:
        self._skip = skip
        self._steps: list[tuple[int, float, float]] = []

    def step(self, images: int, seconds: float, waited: float = 0.0) -> None:
        """Count one finished step.

        Args:
            images: Images of the step.
            seconds: From the end of the step before to the end of this one.
            waited: The part of these seconds in which the step waited for images.
        """
        self._steps.append((images, seconds, waited))

    @property
    def steps(self) -> int:
        """Number of all steps, including the first ones."""
        return len(self._steps)

    @property
    def seconds(self) -> float:
        """Seconds of all steps, including the first ones."""
        return sum(seconds for _, seconds, _ in self._steps)

    @property
    def images_per_second(self) -> float:
        """Images per second after the first steps, or of all steps in a run that has no others; 0 without any."""
        images, seconds, _ = self._sums(self._measured)
        return images / seconds if seconds else 0.0

    def recent(self, steps: int) -> tuple[float, float]:
        """Return images per second of the last steps, and the share of their time spent waiting for images.

        Both are 0 without any.
        """
        images, seconds, waited = self._sums(self._steps[-steps:] if steps else [])
        return (images / seconds, waited / seconds) if seconds else (0.0, 0.0)

    @property
    def warming_up(self) -> bool:
        """Whether the steps so far compile the graph and fill caches, so that their speed is not that of the run."""
        return len(self._steps) <= self._skip

    def figures(self) -> dict[str, Any]:
        """Return this rank's figures: measured steps, their milliseconds, and the share of the wait for images."""
        measured = self._measured
        _, seconds, waited = self._sums(measured)
        milliseconds = np.percentile([1000 * step[1] for step in measured] or [0], (50, 90, 99))
        return {
            "warm_up_steps": len(self._steps) - len(measured),
            "steps_measured": len(measured),
            "step_milliseconds": dict(zip(("p50", "p90", "p99"), milliseconds.round(2).tolist(), strict=True)),
            "data_wait_share": round(waited / seconds, 4) if seconds else 0.0,
        }

    @property
    def _measured(self) -> Sequence[tuple[int, float, float]]:
        return self._steps[self._skip :] or self._steps

    @staticmethod
    def _sums(steps: Sequence[tuple[int, float, float]]) -> tuple[float, float, float]:
        images, seconds, waited = (sum(part) for part in zip(*steps, strict=True)) if steps else (0, 0.0, 0.0)
        return images, seconds, waited


def rate(images_per_second: float) -> str:
    """Return a speed as it is printed, never rounded to 0.

    Without commas between thousands: a reader of the log, such as SageMaker for CloudWatch, would take a part of it.
    """
    return f"{images_per_second:.0f}" if images_per_second >= 10 else f"{images_per_second:.2g}"


def speeds(images_per_second: float) -> dict[str, Any]:
    """Return the images per second of all ranks."""
    # Each rank measures itself; the list shows a slow rank that the total would hide.
    per_rank: Sequence[float] = ranks.current().gather(images_per_second, "speeds")
    return {
        "images_per_second": round(sum(per_rank), 1),
        "images_per_second_per_rank": [round(value, 1) for value in per_rank],
    }
