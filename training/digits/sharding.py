"""Which examples a rank sees, and in which order."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Batch:
    """A rank's part of one step, always of the same shape: `weights` is 0 where an example only fills the batch up."""

    indices: np.ndarray
    """Positions in the training set."""
    weights: np.ndarray
    """1 for an example that counts, 0 for a filler."""
    global_count: int
    """Examples that count over all ranks."""


def epoch_order(examples: int, seed: int, epoch: int) -> np.ndarray:
    """Shuffles the training set for one epoch: the same on every rank, and the same when the epoch is run again."""
    return np.random.default_rng([seed, epoch]).permutation(examples)


def shard(order: np.ndarray, rank: int, size: int) -> np.ndarray:
    """Takes every `size`-th example: the shards are disjoint, cover everything, and differ by one example at most.

    Dealt out in turn and not in blocks, so that step for step the ranks together see what one rank would see with a
    batch `size` times as large.
    """
    return order[rank::size]


def batches(order: np.ndarray, batch_size: int, rank: int, size: int) -> Iterator[Batch]:
    """Cuts a rank's shard into batches, as many on every rank: a missing one would leave the others waiting."""
    own = shard(order, rank, size)
    for start in range(0, -(-len(order) // (batch_size * size)) * batch_size, batch_size):
        part = own[start : start + batch_size]
        missing = batch_size - len(part)
        yield Batch(
            indices=np.concatenate([part, np.zeros(missing, part.dtype)]),
            weights=np.concatenate([np.ones(len(part), np.float32), np.zeros(missing, np.float32)]),
            global_count=min(batch_size * size, len(order) - start * size),
        )
