"""Train a small task with the loop on two ranks; rank zero prints what happened as JSON, in the last line.

mpirun -np 2 python -m tests.training.runtime.loop_probe EMPTY_FOLDER
"""

import dataclasses
import errno
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from training.runtime import checkpoint, horovod_ranks, loop, tensorflow_ranks, watchdog
from training.runtime import every as every_module
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.distributed import barrier
from training.runtime.every import every
from training.runtime.network import Network, make_network
from training.runtime.position import Position
from training.runtime.stop_request import Stopped, StopRequest
from training.runtime.task import Evaluation, Plan, StepInput, Task, TrainStep
from training.runtime.train_step import Losses, make_train_step

horovod_ranks.init()
tf.config.experimental.enable_op_determinism()
output = Path(sys.argv[1])
answers: dict[str, object] = {}
layers = tf.keras.layers

STEPS, BATCH = 12, 4


def of_ranks(value: object) -> Any:
    return hvd.allgather_object(value, name="of ranks")


def network() -> Network:
    """Return a network with a frozen layer, for batches of any shape, and statistics that differ from rank to rank."""
    tf.keras.utils.set_random_seed(0)
    inputs = tf.keras.Input((None, None, 1))
    x = layers.Conv2D(2, 3, trainable=False, name="frozen")(inputs)
    x = layers.GlobalAveragePooling2D()(layers.BatchNormalization()(x))
    return make_network(tf.keras.Model(inputs, [layers.Dense(1)(x), layers.Dense(1)(x)]), momentum=0.9)


def losses_of(model: tf.keras.Model) -> Losses:
    def losses(images: tf.Tensor, targets: tf.Tensor) -> Mapping[str, tf.Tensor]:
        first, second = model(images, training=True)
        return {
            "box": tf.reduce_mean((first[:, 0] - targets) ** 2),
            "class": tf.reduce_mean(tf.abs(second[:, 0] - targets)),
        }

    return losses


def batches(position: Position) -> Iterator[StepInput]:
    """Yield batches of two shapes, which follow from the step alone."""
    done = sum(segment.steps for segment in position.segments)
    for step in range(done, STEPS):
        height = 6 if step % 3 else 9
        random = np.random.default_rng([position.epoch, step, hvd.rank()])
        images = random.normal(size=(BATCH, height, 8, 1)).astype(np.float32)
        yield StepInput((images, random.normal(size=BATCH).astype(np.float32)))


def task_of(folder: str, checkpoints: str, evaluations: str, **changes: Any) -> Task:
    made = network()

    def evaluation() -> Evaluation:
        weight = float(np.abs(made.statistics[0].numpy()).sum())
        return Evaluation(results={"score": weight}, accuracy={"box": weight}, sentence=f"box {weight:.3f}")

    plan = Plan(
        output=output / folder,
        epochs=2,
        batch_size=BATCH,
        training_images=STEPS * BATCH * hvd.size(),
        checkpoint_every=every(checkpoints),
        evaluate_every=every(evaluations),
        keep_checkpoints=99,
    )
    task = Task(
        plan=plan,
        sentences=[],
        settings={},
        variables=made.variables,
        statistics=made.statistics,
        optimizer=made.optimizer,
        train_step=make_train_step(made, losses_of(made.model), deterministic=True),
        batches=batches,
        rate=lambda position: 0.05,
        evaluate=evaluation,
        versions=tensorflow_ranks.versions,
        lower="nothing",
        score="score",
    )
    return dataclasses.replace(task, **changes)


def train(task: Task) -> dict[str, Any]:
    """Train from the beginning, and return the results."""
    with CheckpointWriter(task.plan.output, keep=99) as writer:
        outcome = loop.Loop(task, StopRequest(), writer, {}, time.monotonic()).train(lambda: None)
    watchdog.finished()
    barrier()
    return outcome


def saved(folder: str) -> list[int]:
    """Return the steps that have a checkpoint."""
    return sorted(int(path.stem.removeprefix("step-")) for path in (output / folder / "checkpoints").glob("step-*"))


def end(folder: str) -> bytes:
    """Return all arrays of the last checkpoint."""
    found = checkpoint.newest(output / folder / "checkpoints")
    assert found is not None
    return b"".join(array.tobytes() for array in found.arrays)


# Each form, and what a mid-epoch evaluation changes.
steps = train(task_of("steps", "5steps", "4steps"))
epochs = train(task_of("epochs", "2epochs", "2epochs"))
answers["history by steps"] = [(point["epoch"], sorted(point["accuracy"])) for point in steps["history"]]
answers["history by epochs"] = [(point["epoch"], sorted(point["accuracy"])) for point in epochs["history"]]
answers["losses"] = sorted(epochs["history"][0]["loss"])
answers["total"] = epochs["history"][0]["loss"]
answers["steps saved"], answers["epochs saved"] = saved("steps"), saved("epochs")
answers["evaluations change nothing"] = end("steps") == end("epochs")


# Longer than the run.
train(task_of("never", "25steps", "3epochs"))


# A last start without a step: the one before was stopped after the last step of the last epoch.
written = {"position": Position(step=24, epoch=1).to_json(), "results": steps}
with CheckpointWriter(output / "last") as writer:
    task = dataclasses.replace(task_of("last", "2epochs", "2epochs"), batches=lambda position: iter(()))
    last = loop.Loop(task, StopRequest(), writer, written, time.monotonic()).train(lambda: None)
watchdog.finished()
barrier()
speed = ("images_per_second", "images_per_second_per_rank", "step_milliseconds", "data_wait_share_per_rank")
answers["speed of the last start"] = [last[name] == steps[name] for name in speed] + [len(last["history"])]


# The same after the last step of the first epoch: the checkpoint has no speed yet.
written = {"position": Position(step=12).to_json(), "results": {"training_seconds": 1.0}}
with CheckpointWriter(output / "first") as writer:
    task = task_of("first", "2epochs", "2epochs")
    task = dataclasses.replace(task, batches=lambda position: batches(position) if position.epoch else iter(()))
    found = loop.Loop(task, StopRequest(), writer, written, time.monotonic()).train(lambda: None)
watchdog.finished()
barrier()
answers["steps after the first epoch"] = [found["steps"], found["images_per_second"] > 0]


# Minutes: each step takes half a minute of rank zero's clock, and the other's stands still.
clock = 0.0


def ticking(step: TrainStep) -> TrainStep:
    def ticked(*tensors: Any) -> tuple[Mapping[str, tf.Tensor], tf.Tensor]:
        global clock
        clock += 30.0 if hvd.rank() == 0 else 0.0
        return step(*tensors)

    return ticked


with (
    mock.patch.object(every_module, "time", SimpleNamespace(monotonic=lambda: clock)),
    mock.patch.object(loop, "_EXCHANGE_STEPS", 2),
):
    task = task_of("minutes", "2min", "3min")
    minutes = train(dataclasses.replace(task, train_step=ticking(task.train_step)))
answers["minutes saved"] = of_ranks(saved("minutes"))
answers["history by minutes"] = [point["epoch"] for point in minutes["history"]]


# The first save fails: the next is not five steps later, but at the first exchange after a minute.
_SAVE = checkpoint.save
fails = [OSError(errno.ENOSPC, "No space left on device")]


def failing(folder: Path, state: checkpoint.Checkpoint, keep: int) -> Path:
    if fails:
        raise fails.pop()
    return _SAVE(folder, state, keep)


def slow(*tensors: Any) -> Any:
    # The thread that writes has time to fail.
    time.sleep(0.05)
    return ticking(task.train_step)(*tensors)


with (
    mock.patch.object(every_module, "time", SimpleNamespace(monotonic=lambda: clock)),
    mock.patch.object(loop, "_EXCHANGE_STEPS", 2),
    mock.patch.object(checkpoint, "save", failing),
):
    task = task_of("retried", "5steps", "2epochs")
    train(dataclasses.replace(task, train_step=slow))
answers["steps saved after a failure"] = saved("retried")


# A stop request of rank 1 during step 7: the next exchange saves it, between two saves of the plan.
class RequestAtStep7(StopRequest):
    steps = 0

    @property
    def received(self) -> bool:
        return hvd.rank() == 1 and self.steps >= 7


stop = RequestAtStep7()
task = task_of("stopped", "2epochs", "2epochs")


def counting(*tensors: Any) -> Any:
    stop.steps += 1
    return task.train_step(*tensors)


try:
    with CheckpointWriter(output / "stopped", keep=99) as writer:
        counted = dataclasses.replace(task, train_step=counting)
        loop.Loop(counted, stop, writer, {}, time.monotonic()).train(lambda: None)
    ended = "finished"
except Stopped:
    ended = "stopped"
watchdog.finished()
barrier()
answers["ended"], answers["stopped saved"] = of_ranks(ended), saved("stopped")

# Clipping: gradients of a length below the limit stay as they are, longer ones have that length.
lengths = []
for limit in (None, 1e9, 1e-3):
    made = network()
    made.optimizer.learning_rate = 1.0
    before = [weight.numpy() for weight in made.model.trainable_variables]
    step = make_train_step(made, losses_of(made.model), clip_norm=limit, deterministic=True)
    step(*next(batches(Position())).tensors)
    moved = [weight.numpy() - old for weight, old in zip(made.model.trainable_variables, before, strict=True)]
    lengths.append(float(np.sqrt(sum((each**2).sum() for each in moved))))
answers["lengths"] = lengths

if hvd.rank() == 0:
    print(json.dumps(answers), flush=True)
barrier()
