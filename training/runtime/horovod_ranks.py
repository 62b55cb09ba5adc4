"""The ranks that Horovod connects."""

from collections.abc import Sequence
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
from numpy.typing import NDArray

from training.runtime import ranks


class HorovodRanks(ranks.Ranks):
    """The current ranks; an elastic run changes them."""

    def rank(self) -> int:
        """Return this process's number, from 0."""
        return int(hvd.rank())

    def size(self) -> int:
        """Return the number of ranks."""
        return int(hvd.size())

    def local_rank(self) -> int:
        """Return this process's number on its machine or in its pod, from 0."""
        return int(hvd.local_rank())

    def local_size(self) -> int:
        """Return the number of ranks on this machine or in this pod."""
        return int(hvd.local_size())

    def gather(self, value: Any, name: str) -> list[Any]:
        """Return the values of all ranks on every rank."""
        return list(hvd.allgather_object(value, name=name))

    def broadcast(self, value: Any, name: str) -> Any:
        """Return rank zero's value on every rank."""
        return hvd.broadcast_object(value, root_rank=0, name=name)

    def rows(self, vector: NDArray[Any], name: str) -> NDArray[Any]:
        """Return the vectors of all ranks, a row each."""
        gathered: NDArray[Any] = hvd.allgather(vector[np.newaxis], name=name).numpy()
        return gathered

    def average(self, vector: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Return the mean of the vectors of all ranks."""
        mean: NDArray[np.float32] = hvd.allreduce(vector, op=hvd.Average, name=name).numpy()
        return mean

    def copy_variables(self, variables: Sequence[ranks.Variable]) -> None:
        """Give the variables of every rank the values of rank zero."""
        hvd.broadcast_variables(variables, root_rank=0)


def init() -> None:
    """Find the other ranks; without mpirun this one is alone."""
    hvd.init()
    ranks.use(HorovodRanks())
