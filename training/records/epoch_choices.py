"""Random choices for a record: by the run's seed, the epoch and the record's number, so that ranks change nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def epoch_key(seed: int, epoch: int) -> int:
    """Return the 63 bits of seed and epoch that decide an epoch's choices, such as crops."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def mirrored(records: int, seed: int, epoch: int) -> NDArray[Any]:
    """Return for every record of the split whether this epoch mirrors it: at random, half of them."""
    # 1: another stream than those of the epoch's order and of the crops.
    return np.random.default_rng([seed, epoch, 1]).integers(2, size=records, dtype=np.uint8).astype(bool)
