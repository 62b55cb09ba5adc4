"""Ranks that come and go while a run lasts: what `horovodrun --host-discovery-script` starts.

A run under `mpirun` passes through here unchanged. https://horovod.readthedocs.io/en/v0.28.1/elastic.html
"""

import os
import sys
from collections.abc import Callable, Sequence

import horovod.tensorflow as hvd
import tensorflow as tf
from horovod.common.elastic import State

from training.runtime import orphans

#: Called after each checkpoint: it does not return where workers were added or are about to go.
CheckHosts = Callable[[], None]


def active() -> bool:
    """Whether ranks may come and go: `horovodrun` says so to every rank that it starts with a discovery script."""
    return os.environ.get("HOROVOD_ELASTIC") == "1"


def run(program: Callable[[CheckHosts], None], variables: Sequence[tf.Variable]) -> None:
    """Runs a program to its end, and begins it anew with the ranks that are there whenever ranks were lost or added.

    Args:
        program: Goes on from the newest checkpoint. No rank may have used a collective operation before: a rank that
            joins later would make it alone.
        variables: All that training changes. Each beginning finds them as they are now, in case there is no checkpoint
            yet. They stay the same objects, because Horovod knows them by names that a second model would not get.
    """
    if not active():
        program(lambda: None)
        return
    orphans.end_with_the_launcher(sys.stdout.fileno())
    first = [variable.numpy() for variable in variables]

    def begin(state: State) -> None:
        for variable, value in zip(variables, first, strict=True):
            variable.assign(value)
        try:
            program(state.check_host_updates)
        except tf.errors.UnknownError as error:
            if "Horovod" in error.message:
                raise
            # Horovod would let any other one of this kind pass for the end of a run that went well.
            raise RuntimeError(error.message) from error

    # Horovod: catches what a collective operation raises when a rank is lost, finds the ranks that are left, repeats.
    hvd.elastic.run(begin)(_NoState(bcast_object=hvd.broadcast_object, get_rank=hvd.rank))


class _NoState(State):
    """Nothing kept in memory: the checkpoint on the shared file system is all that a new beginning needs."""

    def save(self) -> None:
        """Does nothing: the program has written a checkpoint."""

    def restore(self) -> None:
        """Does nothing: the program reads the newest checkpoint when it begins."""

    def sync(self) -> None:
        """Does nothing: rank 0 reads the checkpoint and broadcasts it."""
