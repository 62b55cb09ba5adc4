"""A run between its command line and its results, over all restarts of an elastic one."""

import gc
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import tensorflow as tf

from . import (
    complete_run,
    curve,
    elastic,
    ranks,
    tensorflow_ranks,
    wall_clock,
    watchdog,
)
from .errors import RankError
from .lost_launcher import end_with_the_launcher
from .stop_request import StopRequest
from .task import Task

# XLA and the GPU's libraries report it within errors of other kinds.
_WORDS = ("RESOURCE_EXHAUSTED", "Out of memory", "OUT_OF_MEMORY", "ALLOC_FAILED")


def train(make_task: Callable[[], Task], variables: Sequence[tf.Variable], stop: StopRequest) -> None:
    """Train from the newest checkpoint to the results, with the current ranks, and draw the pictures.

    Args:
        make_task: Called again in an elastic run when the ranks have changed.
        variables: All that training changes; see `TensorFlowRanks.run`.
        stop: The stop request of this rank.
    """
    tasks: list[Task] = []
    starts = itertools.chain([wall_clock.process_start()], iter(time.monotonic, None))

    def start(check_hosts: elastic.CheckHosts) -> None:
        # The wait for other workers, between two starts, does not count.
        began = next(starts)
        watchdog.progress()
        # The memory of the start before, such as the images of '--cache', must be free for the next; graphs and the
        # objects that they call refer to each other.
        tasks.clear()
        gc.collect()
        try:
            task = make_task()
            tasks.append(task)
            with memory_reported(task.lower):
                complete_run.complete(task, stop, check_hosts, began)
        finally:
            # The next wait may be longer, such as for other workers.
            watchdog.finished()

    # Only where the program has imported it: others run without Horovod.
    hvd = sys.modules.get("horovod.tensorflow")
    if hvd and hvd.is_initialized() and hvd.size() != ranks.size():
        # Each process would train for itself, and take the folder of the others.
        raise RuntimeError("Horovod's ranks are not in use: call training.runtime.horovod_ranks.init(), not hvd.init()")
    end_with_the_launcher()
    tensorflow_ranks.current().run(start, variables)
    curve.draw(tasks[-1].plan.output)
    # Rank zero alone writes.
    if ranks.rank() == 0:
        tasks[-1].draw()


@contextmanager
def memory_reported(lower: str) -> Iterator[None]:
    """Turn TensorFlow's errors of a memory that does not suffice into one that says how to fix it.

    Args:
        lower: Options to change, such as "give '--batch-size' 128 or less".

    Raises:
        RankError: The memory of this rank's device, or of its machine, does not suffice.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if not _is_out_of_memory(error):
            raise
        reason = error.message.strip().partition("\n")[0]
        raise RankError(f"the memory does not suffice ({reason}); {lower}") from error


def _is_out_of_memory(error: tf.errors.OpError) -> bool:
    if isinstance(error, tf.errors.ResourceExhaustedError):
        # A full disk is reported by the same kind of error.
        return "No space left on device" not in error.message
    is_wrapped = isinstance(error, tf.errors.InternalError | tf.errors.UnknownError)
    return is_wrapped and any(words in error.message for words in _WORDS)
