"""The ranks of a run, whatever connects them: Horovod, or torch.distributed.

A program registers its ranks when it starts. Before that, and without others, this process is the only rank.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Variable(Protocol):
    """An array that training changes, as a framework keeps it."""

    @property
    def name(self) -> str:
        """The name in a checkpoint."""

    @property
    def shape(self) -> Any:
        """The length of each dimension."""

    def numpy(self) -> Any:
        """Return a copy of the values."""

    def assign(self, value: Any) -> object:
        """Set the values."""


class Ranks:
    """A single rank; subclasses connect several. Every rank must call the functions that take a value."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0, local_size: int = 1) -> None:
        self._rank, self._size, self._local_rank, self._local_size = rank, size, local_rank, local_size

    def rank(self) -> int:
        """Return this process's number, from 0."""
        return self._rank

    def size(self) -> int:
        """Return the number of ranks."""
        return self._size

    def local_rank(self) -> int:
        """Return this process's number on its machine or in its pod, from 0."""
        return self._local_rank

    def local_size(self) -> int:
        """Return the number of ranks on this machine or in this pod."""
        return self._local_size

    def gather(self, value: Any, name: str) -> list[Any]:
        """Return the values of all ranks on every rank."""
        return [value]

    def broadcast(self, value: Any, name: str) -> Any:
        """Return rank zero's value on every rank."""
        return value

    def broadcast_arrays(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return rank zero's arrays on every rank; those of the other ranks count for nothing."""
        # One by one: a pickle of all would need as much memory again.
        kinds = self.broadcast([(each.shape, each.dtype) for each in arrays], "kinds of arrays")
        own = arrays if self.rank() == 0 else [np.empty(shape, dtype) for shape, dtype in kinds]
        return [self.broadcast_array(each) for each in own]

    def broadcast_array(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return rank zero's array on every rank, each of which gives one of its shape and type."""
        sent: NDArray[Any] = self.broadcast(array, "array")
        return sent

    def rows(self, vector: NDArray[Any], name: str) -> NDArray[Any]:
        """Return the vectors of all ranks, a row each."""
        return vector[np.newaxis]

    def average(self, vector: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Return the mean of the vectors of all ranks."""
        return vector

    def copy_variables(self, variables: Sequence[Variable]) -> None:
        """Give the variables of every rank the values of rank zero."""


_current = Ranks()


def use(ranks: Ranks) -> None:
    """Use these ranks from now on."""
    global _current
    _current = ranks


def current() -> Ranks:
    """Return the ranks in use."""
    return _current


def rank() -> int:
    """Return this process's number, from 0."""
    return _current.rank()


def size() -> int:
    """Return the number of ranks."""
    return _current.size()
