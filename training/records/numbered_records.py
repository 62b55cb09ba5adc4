"""What every kind of data set offers: records with numbers from 0, each an image with its label."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from training.records.tfrecords import DamagedRecordError
from training.runtime.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

# They wait for the file system and hardly compute.
_THREADS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """The ranks that look for the records together; the default is a rank alone."""

    rank: int = 0
    size: int = 1
    gather: Callable[[Any], list[Any]] = lambda value: [value]
    """Gives every rank the values of all, as `hvd.allgather_object` does."""
    first: Callable[[Callable[[], Any]], Any] = lambda look: look()
    """Lets rank 0 do something and gives all ranks its value or its exception, as `distributed.on_first_rank` does: a
    thousand names are listed once, and no rank stops alone at what its machine does not see."""

    def share(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Does the work on every item, each rank on its part, and returns all results on every rank.

        Raises:
            UserError: On every rank, where one rank's work raises it.
        """
        own, failure = [], None
        try:
            with ThreadPoolExecutor(_THREADS) as pool:
                own = list(pool.map(work, items[self.rank :: self.size]))
        except UserError as error:
            failure = error
        outcomes = self.gather((own, failure))
        for _, other_failure in outcomes:
            if other_failure is not None:
                raise other_failure
        return [outcomes[place % self.size][0][place // self.size] for place in range(len(items))]


class Records(ABC):
    """The images of a split; any number of threads may read at once."""

    faults: Sequence[str] = ()
    """What is missing of the split, a sentence each."""
    lost: int = 0
    """Records that are missing, as far as is known."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def sizes(self, numbers: Sequence[int]) -> np.ndarray:
        """Returns how many bytes each of the records has on the disk."""

    @abstractmethod
    def read(self, numbers: Sequence[int]) -> list[bytes]:
        """Reads what `parse` takes.

        Raises:
            DamagedRecordError: One of the records is damaged.
            UserError: The operating system does not let the file be read.
        """

    @abstractmethod
    def parse(self, contents: tf.Tensor, numbers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Finds the JPEGs (strings) and labels (int64, from 1) in what was read, as operations of TensorFlow."""

    @abstractmethod
    def where(self, number: int) -> str:
        """Names a record's file, and its place in it."""

    def bad(self, number: int, reason: str) -> DamagedRecordError:
        """Makes the error that says what is wrong with a record."""
        return DamagedRecordError(self.where(number), reason)
