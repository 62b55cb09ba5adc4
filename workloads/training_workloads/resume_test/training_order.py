"""The places of an undisturbed training, in their order: how far another start of the program has come."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["TrainingOrder"]

_EPOCH = re.compile(r"epoch (\d+(?:\.\d+)?)")
_PART_OF_AN_EPOCH = re.compile(r"epoch \d+\.")
_STEP = re.compile(r"step (\d+)")
_BEFORE_ALL = -1.0


class TrainingOrder:
    """The order of an undisturbed training.

    Attributes:
        places: Its places, each once.
    """

    def __init__(self, places: Sequence[str], times: Sequence[float]) -> None:
        """Take the place of each printed loss, and when it was printed, in seconds after the start."""
        self._numbers: dict[str, int] = {}
        self._times: list[float] = []
        for place, when in zip(places, times, strict=True):
            if place not in self._numbers:
                self._numbers[place] = len(self._times)
                self._times.append(when)
        self.places = list(self._numbers)
        self._positions = [_position(place) for place in self.places]

    def __len__(self) -> int:
        return len(self.places)

    def number(self, place: str) -> int:
        """Return the number of a place, 0 for the first; of an unknown one, as of a bar, that of the one before."""
        if place in self._numbers:
            return self._numbers[place]
        position = _position(place)
        return max((number for number, known in enumerate(self._positions) if known <= position), default=0)

    @property
    def last_of_epochs(self) -> list[int]:
        """The number of the last place of each epoch; none where no epoch has two steps with a loss."""
        steps = {_position(place) for place in self.places if _STEP.search(place) or _PART_OF_AN_EPOCH.search(place)}
        epochs = [math.ceil(_position(place)[0]) for place in self.places]
        if len(steps) <= len({math.ceil(epoch) for epoch, _ in steps}):
            return []
        return [number for number, (one, other) in enumerate(pairwise([*epochs, None])) if one != other]

    @property
    def first_of_epochs(self) -> set[int]:
        """The number of the first place of each epoch; none where `last_of_epochs` has none."""
        ends = self.last_of_epochs
        return {0, *(number + 1 for number in ends[:-1])} if ends else set()

    def seconds_after(self, number: int) -> float:
        """Return the seconds from a place to the next one; of the last, the mean of all."""
        if number + 1 < len(self._times):
            return self._times[number + 1] - self._times[number]
        return (self._times[-1] - self._times[0]) / max(1, len(self._times) - 1)


def _position(place: str) -> tuple[float, float]:
    """Return the epoch and the step of a place; one without a step is that of the whole epoch, and so its end."""
    epoch, step = _EPOCH.search(place), _STEP.search(place)
    return (float(epoch[1]) if epoch else _BEFORE_ALL, float(step[1]) if step else float("inf"))
