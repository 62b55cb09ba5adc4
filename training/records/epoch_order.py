"""The order of a rank's records in an epoch, as an array of record numbers.

With an explicit order a run resumes exactly and at no cost: it does not read trained records again to drop them, and
with another number of ranks it deals out exactly the records that are left.

A bucket holds records of similar shape, such as images that are wider than high: the images of a step are padded to one
shape, little is padded, and no rank waits for another whose images are larger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.errors import UserError
from ..runtime.position import Segment

# Adjacent records that are read at about the same time: about 1.8 MB of ImageNet, enough for the file system to read
# ahead, and few enough that a window mixes 256 places of the dataset.
_BLOCK = 16
# Records whose order is entirely random, as in a shuffle buffer of NVIDIA's size (4,096):
# https://github.com/NVIDIA/DeepLearningExamples TensorFlow/Classification/ConvNets/utils/data_utils.py
_WINDOW = 4096


@dataclass(frozen=True, slots=True)
class Order:
    """The records of a rank, a row per step."""

    numbers: NDArray[Any]
    """Record numbers (steps x batch size)."""
    weights: NDArray[Any]
    """1 for an image that counts, 0 for one that fills the last batch of an evaluation."""

    def __len__(self) -> int:
        return len(self.numbers)


def resume(segments: Sequence[Segment], world_size: int, batch_size: int) -> tuple[tuple[Segment, ...], int]:
    """Return the finished segments and the first step of the current one.

    With the same ranks and batch size the last segment continues, so that a resumed run is the same as an uninterrupted
    one.
    """
    last = segments[-1] if segments else None
    if last and (last.world_size, last.batch_size) == (world_size, batch_size):
        return tuple(segments[:-1]), last.steps
    return tuple(segments), 0


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
    records: int,
    segments: Sequence[Segment],
    *,
    batch_size: int,
    rank: int,
    size: int,
    seed: int,
    epoch: int,
    buckets: NDArray[Any] | None = None,
) -> Order:
    """Deal out the records that an epoch has left after its finished segments, the same number of steps to every rank.

    A rank's records are adjacent: it reads files that few other ranks read, and the same files in every epoch, so that
    they are in the page cache of its machine. Records that fill no complete step are dropped, others in each epoch.

    Args:
        records: Records of the split.
        segments: The finished segments of this epoch, as `resume` returns them.
        batch_size: Images per step and rank.
        rank: Rank of the run, from 0.
        size: Ranks of the run.
        seed: The run's '--seed'.
        epoch: From 0.
        buckets: The bucket of each record, from 0; a step takes records of one, the same on all ranks. Default: any.
    """
    left = np.ones(records, bool)
    for place, segment in enumerate(segments):
        groups, seeds = _groups(left, buckets), (seed, epoch, place)
        steps = _steps(groups, segment.batch_size * segment.world_size, seeds)[: segment.steps]
        for other in range(segment.world_size):
            left[_rows(groups, steps, segment.batch_size, other, segment.world_size, seeds)] = False
    groups, seeds = _groups(left, buckets), (seed, epoch, len(segments))
    rows = _rows(groups, _steps(groups, batch_size * size, seeds), batch_size, rank, size, seeds)
    return Order(rows, np.ones(rows.shape, np.float32))


def evaluation(records: int, *, batch_size: int, rank: int, size: int, buckets: NDArray[Any] | None = None) -> Order:
    """Deal out every record of a split exactly once, in the same number of steps on every rank, of one bucket each."""
    rows, weights = [np.zeros((0, batch_size), np.int64)], [np.zeros((0, batch_size), np.float32)]
    for numbers in filter(len, _groups(np.ones(records, bool), buckets).values()):
        own = dealt(numbers, rank, size)
        shape = (-(-len(numbers) // (size * batch_size)), batch_size)
        # The rank's last record fills the batch: it is in memory. A rank without records takes the first of all.
        row, weight = np.full(shape, own[-1] if len(own) else numbers[0]), np.zeros(shape, np.float32)
        row.flat[: len(own)] = own
        weight.flat[: len(own)] = 1
        rows.append(row)
        weights.append(weight)
    return Order(np.concatenate(rows), np.concatenate(weights))


def own_range(records: int, rank: int, size: int) -> range:
    """Return the records that a rank reads in an epoch with a constant number of ranks."""
    own = dealt(np.arange(records), rank, size)
    return range(own[0], own[-1] + 1) if len(own) else range(0)


def _groups(left: NDArray[Any], buckets: NDArray[Any] | None) -> dict[tuple[int, ...], NDArray[Any]]:
    """Return the numbers of the records that are left, of each bucket apart, by the last seed of their order."""
    numbers = np.flatnonzero(left)
    if buckets is None:
        return {(): numbers}
    of_each = buckets[numbers]
    return {(bucket,): numbers[of_each == bucket] for bucket in range(int(buckets.max(initial=0)) + 1)}


def _steps(
    groups: Mapping[tuple[int, ...], NDArray[Any]], global_batch: int, seeds: tuple[int, int, int]
) -> NDArray[Any]:
    """Return the group of each step: drawn without the rank, so that all ranks draw the same."""
    steps = np.repeat(np.arange(len(groups)), [len(numbers) // global_batch for numbers in groups.values()])
    return np.random.default_rng(seeds).permutation(steps)


def _rows(
    groups: Mapping[tuple[int, ...], NDArray[Any]],
    steps: NDArray[Any],
    batch_size: int,
    rank: int,
    size: int,
    seeds: tuple[int, int, int],
) -> NDArray[Any]:
    """Return a rank's records of each step."""
    rows = np.zeros((len(steps), batch_size), np.int64)
    for group, (last_seed, numbers) in enumerate(groups.items()):
        places = np.flatnonzero(steps == group)
        # Each group is dealt out alone: the ranks have equally many of its records, and so equally many steps.
        own = shuffled(dealt(numbers, rank, size), [*seeds, rank, *last_seed])
        rows[places] = own[: len(places) * batch_size].reshape(-1, batch_size)
    return rows


def dealt(numbers: NDArray[Any], rank: int, size: int) -> NDArray[Any]:
    """Return a rank's share: adjacent records, and at most one more than another rank has."""
    return np.array_split(numbers, size)[rank]


def shuffled(numbers: NDArray[Any], seed: Sequence[int]) -> NDArray[Any]:
    """Shuffle blocks in the whole share, and then records within a window."""
    random = np.random.default_rng(seed)
    blocks = random.permutation(-(-len(numbers) // _BLOCK))
    places = (blocks[:, np.newaxis] * _BLOCK + np.arange(_BLOCK)).ravel()
    places = places[places < len(numbers)]
    for start in range(0, len(places), _WINDOW):
        random.shuffle(places[start : start + _WINDOW])
    shuffled: NDArray[Any] = numbers[places]
    return shuffled
