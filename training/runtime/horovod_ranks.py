"""The ranks that Horovod connects."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import horovod
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from horovod.common.elastic import State
from horovod.common.exceptions import HorovodInternalError
from numpy.typing import NDArray

from . import elastic, ranks
from .elastic import CheckHosts
from .tensorflow_ranks import TensorFlowRanks


class HorovodRanks(TensorFlowRanks):
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

    def broadcast_array(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return rank zero's array on every rank, each of which gives one of its shape and type."""
        # As bytes: Horovod does not send each of NumPy's types, nor an array without dimensions.
        words = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        sent = hvd.broadcast(words, root_rank=0, name="array").numpy() if len(words) else words
        found: NDArray[Any] = sent.view(array.dtype).reshape(array.shape)
        return found

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

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the software that connects the ranks."""
        return {"horovod": horovod.__version__, "mpi": _mpi_version()}

    def run(self, program: Callable[[CheckHosts], None], variables: Sequence[tf.Variable]) -> None:
        """Run a program to its end, with the restarts of an elastic run; see `run_elastic`."""
        run_elastic(program, variables)

    def mean_gradients(
        self,
        tape: tf.GradientTape,
        loss: tf.Tensor,
        weights: Sequence[tf.Variable],
        *,
        compression: str,
        groups: int,
    ) -> list[tf.Tensor]:
        """Return the mean over the ranks of the gradients of each rank's loss; part of a graph."""
        in_float16 = compression == "fp16"
        # Horovod: each gradient that the tape returns is the mean over the ranks.
        tape = hvd.DistributedGradientTape(
            tape,
            op=hvd.Average,
            compression=hvd.Compression.fp16 if in_float16 else hvd.Compression.none,
            num_groups=groups,
            # In float16 the sum of many ranks would be infinite before its parts are.
            gradient_predivide_factor=hvd.size() if in_float16 else 1.0,
        )
        return list(tape.gradient(loss, weights))


def run_elastic(program: Callable[[CheckHosts], None], variables: Sequence[tf.Variable]) -> None:
    """Run a program to its end, and restart it with the present ranks whenever ranks were lost or added.

    https://horovod.readthedocs.io/en/v0.28.1/elastic.html

    Args:
        program: Resumes from the newest checkpoint. No rank may have used a collective operation before: a rank that
            joins later would call it alone.
        variables: All that training changes. Each start finds them as they are now, in case there is no checkpoint
            yet. They stay the same objects, because Horovod knows them by names that a second model would not get.
    """
    if not elastic.active():
        program(lambda: None)
        return
    first = [variable.numpy() for variable in variables]

    def begin(state: State) -> None:
        for variable, value in zip(variables, first, strict=True):
            variable.assign(value)
        try:
            program(state.check_host_updates)
        except tf.errors.UnknownError as error:
            # Horovod knows three of its operations by their names. It would take any other error of this kind, also
            # its own, for the end of a successful run.
            kind = HorovodInternalError if "Horovod" in error.message else RuntimeError
            raise kind(error.message) from error

    # Horovod: catches the error of a collective operation when a rank is lost, finds the remaining ranks, repeats.
    hvd.elastic.run(begin)(_NoState(bcast_object=hvd.broadcast_object, get_rank=hvd.rank))


class _NoState(State):
    """Nothing kept in memory: a restart needs only the checkpoint on the shared file system."""

    def save(self) -> None:
        """Do nothing: the program has written a checkpoint."""

    def restore(self) -> None:
        """Do nothing: the program reads the newest checkpoint when it starts."""

    def sync(self) -> None:
        """Do nothing: rank zero reads the checkpoint and broadcasts it."""


def _mpi_version() -> str:
    """Return the version of the MPI library that Horovod is linked with; the mpirun on the PATH may have another."""
    if not (hvd.mpi_built() and hvd.mpi_enabled()):
        return "none: Horovod runs on Gloo"
    # Found through Horovod's own library, which is linked with it.
    (horovod_library,) = (Path(horovod.__file__).parent / "tensorflow").glob("mpi_lib*.so")
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    ctypes.CDLL(str(horovod_library)).MPI_Get_library_version(text, ctypes.byref(length))
    return text.value.decode().partition(",")[0]


def init() -> None:
    """Find the other ranks; without mpirun this one is alone."""
    hvd.init()
    ranks.use(HorovodRanks())
