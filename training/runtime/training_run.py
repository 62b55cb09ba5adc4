"""A run between its command line and its results, over all restarts of an elastic one."""

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf

from training.runtime import curve, elastic, files, lost_launcher, out_of_memory, wall_clock, watchdog
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.distributed import on_rank_zero, say
from training.runtime.loop import Loop
from training.runtime.rank_checkpoint import another_program, resume
from training.runtime.run_lock import locked
from training.runtime.stop_request import StopRequest
from training.runtime.task import Task


def train(make_task: Callable[[], Task], variables: Sequence[tf.Variable], stop: StopRequest) -> None:
    """Train from the newest checkpoint to the results, with the current ranks, and draw the pictures.

    Args:
        make_task: Called again in an elastic run when the ranks have changed.
        variables: All that training changes; see `elastic.run`.
        stop: The stop request of this rank.
    """
    began = wall_clock.process_start()
    tasks: list[Task] = []

    def start(check_hosts: elastic.CheckHosts) -> None:
        nonlocal began
        watchdog.progress()
        # What the start before keeps in memory, such as the images of '--cache', must be free for the next; graphs and
        # what they call refer to each other.
        tasks.clear()
        gc.collect()
        try:
            task = make_task()
            tasks.append(task)
            with out_of_memory.reported(task.lower):
                _complete(task, stop, check_hosts, began)
        finally:
            # What follows may wait longer, such as for other workers.
            watchdog.finished()
            began = time.monotonic()

    lost_launcher.end_with_the_launcher()
    elastic.run(start, variables)
    curve.draw(tasks[-1].plan.output)
    # Horovod: rank zero alone writes.
    if hvd.rank() == 0:
        tasks[-1].draw()


def _complete(task: Task, stop: StopRequest, check_hosts: elastic.CheckHosts, began: float) -> None:
    """Train from the newest checkpoint to the files of the results."""
    output = task.plan.output
    # Horovod: rank zero alone writes, so it alone must be able to; all ranks learn of it if it cannot.
    on_rank_zero(lambda: files.make_writable(output))
    with locked(output), CheckpointWriter(output, keep=task.plan.keep_checkpoints) as writer:
        for sentence in task.sentences:
            say(sentence)
        written = resume(
            output,
            task.variables,
            task.settings,
            per_rank=task.statistics,
            defaults=task.settings_before,
            names=task.names,
        )
        if written:
            task.resume(written)
        loop = Loop(task, stop, writer, written, began)
        _say_where(loop, task, written)
        outcome = loop.train(check_hosts)
        watchdog.progress()
        writer.wait()
        # Horovod: rank zero alone writes. A finished run writes its results again, in case a file was damaged.
        on_rank_zero(lambda: _write(task, outcome))


def _say_where(loop: Loop, task: Task, written: dict[str, Any]) -> None:
    position = loop.position
    if position.epoch == task.plan.epochs:
        if not isinstance(loop.outcome.get(task.score), int | float):
            raise another_program(task.plan.output)
        score = f"{task.score.replace('_', ' ')} {loop.outcome[task.score]:.4f}"
        say(f"nothing to do: {task.plan.output} holds this run, finished, with {score}")
    elif written:
        say(
            f"resuming after step {position.step}, {position.images} images into epoch {position.epoch + 1}: "
            f"written by {written['world_size']} ranks, now {hvd.size()}"
        )


def _write(task: Task, outcome: dict[str, Any]) -> None:
    output = task.plan.output
    try:
        task.export()
        files.write_json(output / "results.json", outcome)
    except OSError as error:
        raise files.unwritable(output, error) from error
