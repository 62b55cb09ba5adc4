"""The restarts of an elastic run, by Horovod: https://horovod.readthedocs.io/en/v0.28.1/elastic.html."""

from collections.abc import Callable, Sequence

import horovod.tensorflow as hvd
import tensorflow as tf
from horovod.common.elastic import State
from horovod.common.exceptions import HorovodInternalError

from training.runtime import elastic
from training.runtime.elastic import CheckHosts


def run(program: Callable[[CheckHosts], None], variables: Sequence[tf.Variable]) -> None:
    """Run a program to its end, and restart it with the present ranks whenever ranks were lost or added.

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
