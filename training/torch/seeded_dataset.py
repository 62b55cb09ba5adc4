"""A data set whose random numbers depend on the sample: not on its reader, nor on what that has read before."""

import signal
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch

from ..runtime import parent_death
from . import random_states
from .epoch_sampler import Sample


class SeededDataset(torch.utils.data.Dataset[Any]):
    """Reads the samples of another data set, each with random states by (seed, epoch, number).

    So a worker that was started again, or that has read ahead, gives the same samples. The `collate_fn` of a worker
    continues from the states of the last sample of its batch.
    """

    def __init__(self, dataset: Any, seed: int) -> None:
        """Read nothing yet.

        Args:
            dataset: A data set with `__getitem__`; `__getitems__`, which reads a batch, is used where it has one.
            seed: Seed of the run.
        """
        self.dataset, self._seed = dataset, seed
        # Of numbers that say none. In memory that the workers see, too.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()
        self._ends_with_parent = False

    def set_epoch(self, epoch: int) -> None:
        """Read for this epoch from now on, where the numbers of the samples do not say it themselves."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the data set, such as `classes`."""
        if name == "dataset":
            # While it is unpickled, in a worker.
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitem__(self, number: int) -> Any:
        return self.__getitems__([number])[0]

    def __getitems__(self, numbers: Sequence[int]) -> Any:
        """Return the samples of a batch."""
        in_worker = torch.utils.data.get_worker_info() is not None
        if in_worker and not self._ends_with_parent:
            # A worker that outlives a killed rank keeps the lock of the run's folder for seconds.
            parent_death.send_when_the_parent_ends(signal.SIGKILL)
            self._ends_with_parent = True
        # In the process of the training, the states are those of dropout.
        with nullcontext() if in_worker else random_states.kept():
            read_all = getattr(self.dataset, "__getitems__", None)
            if read_all is not None:
                self._seed_for(numbers[0])
                return read_all([int(number) for number in numbers])
            return [self._read(number) for number in numbers]

    def seed_for_batch(self, number: int) -> None:
        """Set the random states for what is done with a batch, by a number of its samples."""
        random_states.seed_cpu(self._seed, int(self._epoch), -1, number)

    def _read(self, number: int) -> Any:
        self._seed_for(number)
        return self.dataset[int(number)]

    def _seed_for(self, number: int) -> None:
        random_states.seed_cpu(self._seed, self._epoch_of(number), int(number))

    def _epoch_of(self, number: int) -> int:
        return number.epoch if isinstance(number, Sample) else int(self._epoch)
