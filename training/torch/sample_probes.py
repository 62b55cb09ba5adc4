"""Whether the data set has the samples that it had when the run began: its order would otherwise be another one."""

import sys
from collections.abc import Mapping
from typing import Any

from ..runtime import ranks
from ..runtime.distributed import on_rank_zero
from . import random_states
from .sample_fingerprint import fingerprint
from .seeded_dataset import SeededDataset


def probe(dataset: Any, seed: int) -> dict[str, str]:
    """Return the fingerprints of the first, the middle and the last sample by their numbers; every rank must call it.

    A sample that cannot be read has none: the training meets its error itself.
    """
    seeded = SeededDataset(dataset, seed)

    def read() -> dict[str, str]:
        found = {}
        for number in sorted({0, len(dataset) // 2, len(dataset) - 1}):
            try:
                found[str(number)] = fingerprint(seeded[number])
            except Exception:
                continue
        return found

    with random_states.kept():
        return on_rank_zero(read)


def warn_of_others(found: Mapping[str, str], written: Mapping[str, str]) -> None:
    """Say which samples are others than those of an earlier start."""
    differing = [number for number, each in written.items() if found.get(number, each) != each]
    if differing and ranks.rank() == 0:
        print(
            f"warning: sample {differing[0]} of the data set is another one than at an earlier start of this run, so "
            "it does not continue exactly: sort a list of files or a set, give 'random_split' a generator with a seed, "
            "and draw random numbers in '__getitem__' by 'random', 'numpy.random' or 'torch', without a generator of "
            "your own",
            file=sys.stderr,
            flush=True,
        )
