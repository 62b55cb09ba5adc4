"""A function that makes a batch of samples, whose random numbers depend on the samples alone."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import random_states
from .sample_fingerprint import fingerprint
from .seeded_dataset import SeededDataset


class SeededCollate:
    """Calls another `collate_fn`, such as one that masks words, with random states by seed, epoch and samples.

    A loader that reads ahead would otherwise draw from the states of the training, at another moment after a resume.
    """

    def __init__(self, collate: Callable[[Sequence[Any]], Any], dataset: SeededDataset) -> None:
        """Make no batch yet.

        Args:
            collate: The function of the user.
            dataset: The data set whose samples it gets.
        """
        self._collate, self._dataset = collate, dataset

    def __call__(self, samples: Sequence[Any]) -> Any:
        """Return the batch."""
        if torch.utils.data.get_worker_info() is not None:
            # A worker continues from the states of the last sample.
            return self._collate(samples)
        with random_states.kept():
            self._dataset.seed_for_batch(int(fingerprint(samples), 16) >> 65)
            return self._collate(samples)
