"""The mean of losses over steps and ranks."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

_WEIGHT = "weight"


class LossSum:
    """Sums of losses, each with a name, over steps with a weight.

    Attributes:
        names: Names of the losses, in the order of the first step; empty before it.
        vector: The weight of all steps and the sum of each loss: those of several ranks can be added.
    """

    def __init__(self, totals: Mapping[str, float] | None = None) -> None:
        """Start with the result of `to_json`. Default: with nothing."""
        totals = totals or {_WEIGHT: 0.0}
        self.names = [name for name in totals if name != _WEIGHT]
        self.vector = np.array([totals[name] for name in (_WEIGHT, *self.names)], np.float64)

    def add(self, losses: Mapping[str, float], weight: float) -> None:
        """Add the losses of a step."""
        self.extend(losses, np.array([weight, *(weight * loss for loss in losses.values())], np.float64))

    def extend(self, names: Iterable[str], vector: NDArray[np.float64]) -> None:
        """Add the names and the vector of another sum."""
        if not self.names:
            self.names = list(names)
            self.vector = np.zeros(1 + len(self.names))
        self.vector = self.vector + vector

    @property
    def weight(self) -> float:
        """Weight of all steps."""
        return float(self.vector[0])

    @property
    def means(self) -> dict[str, float]:
        """The mean of each loss; not a number without a step."""
        weight, *sums = self.vector.tolist()
        return {name: value / weight if weight else math.nan for name, value in zip(self.names, sums, strict=True)}

    def to_json(self) -> dict[str, float]:
        """Return it in JSON's types."""
        return dict(zip((_WEIGHT, *self.names), self.vector.tolist(), strict=True))
