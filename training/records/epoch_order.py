"""Which records a rank sees in an epoch, and in which order, as an array of record numbers.

An explicit order makes a resume exact and free: what was trained is not read again to be dropped, and a run that goes
on with another number of ranks deals out just what is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Records that lie side by side and are read at about the same time: about 1.8 MB of ImageNet, enough for the file
# system to read ahead, and few enough that a window mixes 256 places of the data set.
_BLOCK = 16
# Records among which the order is entirely random, as in a shuffle buffer of NVIDIA's size (4,096):
# https://github.com/NVIDIA/DeepLearningExamples TensorFlow/Classification/ConvNets/utils/data_utils.py
_WINDOW = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A part of an epoch that was trained without interruption, or by the same number of ranks."""

    world_size: int
    """Ranks."""
    batch_size: int
    """Images a step and rank."""
    steps: int
    """Steps that were trained."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a rank reads, a row a step."""

    numbers: np.ndarray
    """Record numbers (steps x batch size)."""
    weights: np.ndarray
    """1 for an image that counts, 0 for one that only fills the last batch of an evaluation up."""

    def __len__(self) -> int:
        return len(self.numbers)


def go_on(segments: Sequence[Segment], world_size: int, batch_size: int) -> tuple[tuple[Segment, ...], int]:
    """Returns the segments that are over and the first step of the present one.

    With the ranks and the batch size of the last segment that one goes on, so that a resumed run is the same as one
    that was never interrupted.
    """
    last = segments[-1] if segments else None
    if last and (last.world_size, last.batch_size) == (world_size, batch_size):
        return tuple(segments[:-1]), last.steps
    return tuple(segments), 0


def training(
    records: int, segments: Sequence[Segment], *, batch_size: int, rank: int, size: int, seed: int, epoch: int
) -> Order:
    """Deals out what an epoch has left after the segments that are over, the same number of steps to every rank.

    A rank's records lie side by side: it reads files that hardly another rank reads, and the same every epoch, so that
    the page cache of its machine has them. Those that fill no whole batch are left out, others in each epoch.

    Args:
        records: Records of the split.
        segments: What of this epoch is over, as `go_on` returns it.
        batch_size: Images a step and rank.
        rank: Of the run, from 0.
        size: Ranks of the run.
        seed: The run's '--seed'.
        epoch: From 0.
    """
    left = np.ones(records, bool)
    for place, segment in enumerate(segments):
        numbers = np.flatnonzero(left)
        for other in range(segment.world_size):
            order = _shuffled(_dealt(numbers, other, segment.world_size), [seed, epoch, place, other])
            left[order[: segment.steps * segment.batch_size]] = False
    numbers = np.flatnonzero(left)
    steps = len(numbers) // (batch_size * size)
    order = _shuffled(_dealt(numbers, rank, size), [seed, epoch, len(segments), rank])
    order = order[: steps * batch_size].reshape(steps, batch_size)
    return Order(order, np.ones(order.shape, np.float32))


def evaluation(records: int, *, batch_size: int, rank: int, size: int) -> Order:
    """Deals out every record of a split exactly once, in as many steps on every rank."""
    own = _dealt(np.arange(records), rank, size)
    shape = (-(-records // (size * batch_size)), batch_size)
    numbers, weights = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    # A record of its own fills up: it is in memory already. A rank without any takes the first of all.
    numbers[:] = own[-1] if len(own) else 0
    numbers.flat[: len(own)] = own
    weights.flat[: len(own)] = 1
    return Order(numbers, weights)


def own_range(records: int, rank: int, size: int) -> range:
    """The records that a rank reads in an epoch in which the number of ranks does not change."""
    own = _dealt(np.arange(records), rank, size)
    return range(own[0], own[-1] + 1) if len(own) else range(0)


def _dealt(numbers: np.ndarray, rank: int, size: int) -> np.ndarray:
    """Returns a rank's share: in one piece, and at most one record larger than another rank's."""
    return np.array_split(numbers, size)[rank]


def _shuffled(numbers: np.ndarray, seed: Sequence[int]) -> np.ndarray:
    """Shuffles blocks over the whole share, and then records within a window."""
    random = np.random.default_rng(seed)
    blocks = random.permutation(-(-len(numbers) // _BLOCK))
    places = (blocks[:, np.newaxis] * _BLOCK + np.arange(_BLOCK)).ravel()
    places = places[places < len(numbers)]
    for start in range(0, len(places), _WINDOW):
        random.shuffle(places[start : start + _WINDOW])
    return numbers[places]
