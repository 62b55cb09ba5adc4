"""Elastic runs, whose ranks come and go: what `horovodrun --host-discovery-script` starts.

A run under `mpirun` passes through here unchanged. https://horovod.readthedocs.io/en/v0.28.1/elastic.html
"""

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import horovod.tensorflow as hvd
import tensorflow as tf
from horovod.common.elastic import State

from training.runtime.distributed import on_every_rank
from training.runtime.errors import RankError, UserError

Value = TypeVar("Value")

#: Called after each checkpoint: it does not return where workers were added or will leave.
CheckHosts = Callable[[], None]


def active() -> bool:
    """Return whether ranks may come and go: `horovodrun` sets the variable where it has a discovery script."""
    return os.environ.get("HOROVOD_ELASTIC") == "1"


def before_run(action: Callable[[], Value]) -> Value:
    """Do on every rank what `run` needs, such as to read a file that all ranks can read.

    An elastic run calls no collective operation here: a rank that joins later would call it alone, and its messages
    would be taken for those of the others.

    Raises:
        RankError: In an elastic run, instead of a `UserError`.
    """
    if not active():
        return on_every_rank(action)[0]
    try:
        return action()
    except UserError as error:
        raise RankError(str(error)) from error


def run(program: Callable[[CheckHosts], None], variables: Sequence[tf.Variable]) -> None:
    """Run a program to its end, and restart it with the present ranks whenever ranks were lost or added.

    Args:
        program: Resumes from the newest checkpoint. No rank may have used a collective operation before: a rank that
            joins later would call it alone.
        variables: All that training changes. Each start finds them as they are now, in case there is no checkpoint
            yet. They stay the same objects, because Horovod knows them by names that a second model would not get.
    """
    if not active():
        program(lambda: None)
        return
    first = [variable.numpy() for variable in variables]

    def begin(state: State) -> None:
        for variable, value in zip(variables, first, strict=True):
            variable.assign(value)
        try:
            program(state.check_host_updates)
        except tf.errors.UnknownError as error:
            if "Horovod" in error.message:
                raise
            # Horovod would take any other error of this kind for the end of a successful run.
            raise RuntimeError(error.message) from error

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
