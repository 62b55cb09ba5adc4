"""The order of a rank's records in an epoch whose steps have one bucket each, the same on all ranks.

A bucket holds records of similar shape, such as images that are wider than high: the images of a step are padded to one
shape, little is padded, and no rank waits for another whose images are larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.records import epoch_order
from training.records.epoch_order import Order, dealt, shuffled
from training.runtime.errors import UserError
from training.runtime.position import Segment


@dataclass(frozen=True, slots=True)
class BucketOrder:
    """The records of a rank, and the bucket of each step."""

    order: Order
    """A row of records per step."""
    buckets: NDArray[Any]
    """The bucket of each step's records, the same on every rank."""


def check_buckets(buckets: NDArray[Any], *, batch_size: int, size: int) -> None:
    """Reject a bucket that fills no step: its records would never be trained on.

    Args:
        buckets: The bucket of each record, from 0.
        batch_size: Images per step and rank.
        size: Ranks of the run.

    Raises:
        UserError: A bucket has fewer records than a step.
    """
    counts = np.bincount(buckets)
    for bucket in np.flatnonzero(counts):
        count = int(counts[bucket])
        if count < batch_size * size:
            fits = f"give '--batch-size {count // size}'" if count >= size else f"start {count} ranks or fewer"
            raise UserError(
                f"bucket {bucket} has {count:,} of the {len(buckets):,} training records, but a step takes "
                f"{batch_size} x {size} ranks = {batch_size * size:,} of one bucket; {fits}, or make fewer buckets"
            )


def training(
    buckets: NDArray[Any], segments: Sequence[Segment], *, batch_size: int, rank: int, size: int, seed: int, epoch: int
) -> BucketOrder:
    """Deal out the records that an epoch has left after its finished segments, the same number of steps to every rank.

    Of each bucket a rank has adjacent records, the same in every epoch, as in `epoch_order.training`. Records of a
    bucket that fill no step are dropped, others in each epoch.

    Args:
        buckets: The bucket of each record of the split, from 0.
        segments: The finished segments of this epoch, as `epoch_order.resume` returns them.
        batch_size: Images per step and rank.
        rank: Rank of the run, from 0.
        size: Ranks of the run.
        seed: The run's '--seed'.
        epoch: From 0.
    """
    left = np.ones(len(buckets), bool)
    for place, segment in enumerate(segments):
        seeds, done = (seed, epoch, place), segment.steps
        steps = _steps(buckets, left, segment.batch_size * segment.world_size, seeds)[:done]
        numbers = np.flatnonzero(left)
        for other in range(segment.world_size):
            rows = _rows(buckets, numbers, steps, segment.batch_size, other, segment.world_size, seeds)
            left[rows.ravel()] = False
    seeds = (seed, epoch, len(segments))
    steps = _steps(buckets, left, batch_size * size, seeds)
    rows = _rows(buckets, np.flatnonzero(left), steps, batch_size, rank, size, seeds)
    return BucketOrder(Order(rows, np.ones(rows.shape, np.float32)), steps)


def evaluation(buckets: NDArray[Any], *, batch_size: int, rank: int, size: int) -> BucketOrder:
    """Deal out every record of a split exactly once, in steps of one bucket each, the same on all ranks.

    Args:
        buckets: The bucket of each record of the split, from 0.
        batch_size: Images per step and rank.
        rank: Rank of the run, from 0.
        size: Ranks of the run.
    """
    rows, weights, steps = [np.zeros((0, batch_size), np.int64)], [np.zeros((0, batch_size), np.float32)], []
    for bucket in np.unique(buckets):
        numbers = np.flatnonzero(buckets == bucket)
        part = epoch_order.evaluation(len(numbers), batch_size=batch_size, rank=rank, size=size)
        rows.append(numbers[part.numbers])
        weights.append(part.weights)
        steps += [int(bucket)] * len(part)
    return BucketOrder(Order(np.concatenate(rows), np.concatenate(weights)), np.array(steps, np.int64))


def _steps(buckets: NDArray[Any], left: NDArray[Any], global_batch: int, seeds: tuple[int, int, int]) -> NDArray[Any]:
    """Return the bucket of each step: drawn without the rank, so that all ranks draw the same."""
    counts = np.bincount(buckets[left]) // global_batch
    steps = np.repeat(np.arange(len(counts)), counts)
    return np.random.default_rng(seeds).permutation(steps)


def _rows(
    buckets: NDArray[Any],
    numbers: NDArray[Any],
    steps: NDArray[Any],
    batch_size: int,
    rank: int,
    size: int,
    seeds: tuple[int, int, int],
) -> NDArray[Any]:
    """Return a rank's records of each step."""
    rows = np.zeros((len(steps), batch_size), np.int64)
    for bucket in np.unique(steps):
        places = np.flatnonzero(steps == bucket)
        # Each bucket is dealt out alone: the ranks have equally many of its records, and so equally many steps.
        own = shuffled(dealt(numbers[buckets[numbers] == bucket], rank, size), [*seeds, rank, int(bucket)])
        rows[places] = own[: len(places) * batch_size].reshape(-1, batch_size)
    return rows
