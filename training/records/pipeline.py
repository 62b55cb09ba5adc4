"""The batches of a split, whatever decodes them, and their random choices.

Choices for a record follow from the run's seed, the epoch and the record's number, so that ranks change nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .epoch_order import Order


class Pipeline(ABC):
    """Makes the batches of a split.

    Attributes:
        skipped_records: Numbers of the skipped records since the start: replaced in training, not counted in an
            evaluation.
    """

    def __init__(self, records: int, *, seed: int, mirror: bool) -> None:
        """Set the values that all epochs share.

        Args:
            records: Records of the split.
            seed: Seed of the random choices.
            mirror: Whether half of the training images are mirrored.
        """
        self._count, self._seed, self._mirror = records, seed, mirror
        self.skipped_records: set[int] = set()

    def training(self, order: Order, epoch: int, start_step: int = 0) -> Iterator[Any]:
        """Yield batches of augmented images from a step on, without reading the steps before it.

        Another record replaces a skipped record: every step has a complete batch, and a resumed run the same batches.

        Raises:
            UserError: A record is damaged and must not be skipped, or a file cannot be read. On this rank only.
        """
        flips = mirrored(self._count, self._seed, epoch) & self._mirror
        return self.batches(order, flips, epoch_key(self._seed, epoch), start_step)

    def evaluation(self, order: Order) -> Iterator[Any]:
        """Yield all images without augmentation; skipped ones, and those that only fill a batch, have weight 0.

        Raises:
            UserError: As `training` does.
        """
        return self.batches(order, np.zeros(self._count, bool), None, 0)

    @abstractmethod
    def batches(self, order: Order, flips: NDArray[Any], key: int | None, start_step: int) -> Iterator[Any]:
        """Yield the batches of an order from a step on.

        Args:
            order: The records of each step.
            flips: Whether to mirror, for every record of the split.
            key: Key of an epoch's random choices; None in an evaluation, which makes none.
            start_step: The first step.
        """


def epoch_key(seed: int, epoch: int) -> int:
    """Return the 63 bits of seed and epoch that decide an epoch's choices, such as crops."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def mirrored(records: int, seed: int, epoch: int) -> NDArray[Any]:
    """Return for every record of the split whether this epoch mirrors it: at random, half of them."""
    # 1: another stream than those of the epoch's order and of the crops.
    return np.random.default_rng([seed, epoch, 1]).integers(2, size=records, dtype=np.uint8).astype(bool)
