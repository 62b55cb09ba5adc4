"""The order of a rank's records in an epoch, as an array of record numbers.

With an explicit order a run resumes exactly and at no cost: it does not read trained records again to drop them, and
with another number of ranks it deals out exactly the records that are left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.runtime.position import Segment

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


def training(
    records: int, segments: Sequence[Segment], *, batch_size: int, rank: int, size: int, seed: int, epoch: int
) -> Order:
    """Deal out the records that an epoch has left after its finished segments, the same number of steps to every rank.

    A rank's records are adjacent: it reads files that few other ranks read, and the same files in every epoch, so that
    they are in the page cache of its machine. Records that fill no complete batch are dropped, others in each epoch.

    Args:
        records: Records of the split.
        segments: The finished segments of this epoch, as `resume` returns them.
        batch_size: Images per step and rank.
        rank: Rank of the run, from 0.
        size: Ranks of the run.
        seed: The run's '--seed'.
        epoch: From 0.
    """
    left = np.ones(records, bool)
    for place, segment in enumerate(segments):
        numbers = np.flatnonzero(left)
        for other in range(segment.world_size):
            order = shuffled(dealt(numbers, other, segment.world_size), [seed, epoch, place, other])
            left[order[: segment.steps * segment.batch_size]] = False
    numbers = np.flatnonzero(left)
    steps = len(numbers) // (batch_size * size)
    order = shuffled(dealt(numbers, rank, size), [seed, epoch, len(segments), rank])
    order = order[: steps * batch_size].reshape(steps, batch_size)
    return Order(order, np.ones(order.shape, np.float32))


def evaluation(records: int, *, batch_size: int, rank: int, size: int) -> Order:
    """Deal out every record of a split exactly once, in the same number of steps on every rank."""
    own = dealt(np.arange(records), rank, size)
    shape = (-(-records // (size * batch_size)), batch_size)
    numbers, weights = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    # The rank's last record fills the batch: it is in memory. A rank without records takes the first of all.
    numbers[:] = own[-1] if len(own) else 0
    numbers.flat[: len(own)] = own
    weights.flat[: len(own)] = 1
    return Order(numbers, weights)


def own_range(records: int, rank: int, size: int) -> range:
    """Return the records that a rank reads in an epoch with a constant number of ranks."""
    own = dealt(np.arange(records), rank, size)
    return range(own[0], own[-1] + 1) if len(own) else range(0)


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
