"""Ask the ranks of a run about their state; rank zero prints the answers as JSON.

mpirun -np 2 python -m tests.training.runtime.probe FINISHED_RUN EMPTY_FOLDER
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.digits import __main__ as digits
from training.runtime import horovod_ranks, options, rank_checkpoint
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.distributed import barrier, on_rank_zero
from training.runtime.errors import UserError
from training.runtime.position import Position

horovod_ranks.init()
finished, empty = Path(sys.argv[1]), Path(sys.argv[2])


def state(job: digits.Job) -> list[float]:
    """Return one number per rank for everything that training changes."""
    numbers = np.concatenate([np.ravel(variable.numpy()).astype(np.float64) for variable in job.variables])
    states: list[float] = hvd.allgather_object(float(np.sum(numbers * np.arange(1, len(numbers) + 1))), name="state")
    return states


def job_of(output: Path, *options: str) -> digits.Job:
    return digits.prepare(digits.parse(["--output-dir", str(output), *options]), "cpu")


def heard(action: Callable[[], object]) -> list[str]:
    """Return the error that each rank gets."""
    try:
        action()
        text = "nothing"
    except UserError as error:
        text = str(error)
    texts: list[str] = hvd.allgather_object(text, name="heard")
    return texts


def one_big_batch(job: digits.Job) -> list[NDArray[np.float32]]:
    """Train an epoch as the job does, but without Horovod and without shards."""
    model, _ = digits.build(job.settings.seed)
    optimizer = tf.keras.optimizers.SGD(momentum=0.9, nesterov=True)
    order = digits.epoch_order(len(job.data.train_images), job.settings.seed, 0)
    global_batch = job.settings.batch_size * hvd.size()
    for step in range(job.steps_per_epoch):
        batch = order[step * global_batch :][:global_batch]
        optimizer.learning_rate = job.rate(position_after(step, job))
        with tf.GradientTape() as tape:
            logits = model(job.data.train_images[batch])
            labels = tf.one_hot(job.data.train_labels[batch], 10)
            loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)(labels, logits)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables, strict=True))
    return [variable.numpy() for variable in model.variables]


def position_after(steps: int, job: digits.Job) -> Position:
    """Return the position after this number of steps."""
    position = Position()
    for _ in range(steps):
        position = position.after_step(hvd.size(), job.settings.batch_size)
    return position


def train_epoch(job: digits.Job) -> None:
    """Train an epoch as the loop does."""
    train_step = digits.make_train_step(job)
    for step, given in enumerate(job.steps(Position())):
        job.optimizer.learning_rate = job.rate(position_after(step, job))
        train_step(*given.tensors)


answers: dict[str, object] = {}

# Each rank draws other weights and another momentum: only the broadcast can make them equal.
job = job_of(empty)
generator = np.random.default_rng(hvd.rank())
for variable in job.variables:
    if variable.dtype.is_floating:
        variable.assign(generator.normal(size=variable.shape))
answers["states_before"] = state(job)
answers["momentum_before"] = float(np.abs(job.optimizer.variables[-1].numpy()).sum())
rank_checkpoint.resume(empty, job.variables, options.learned(job.settings))
answers["states_after"] = state(job)

# Every rank would write into a separate folder, if it wrote.
with CheckpointWriter(empty / f"rank-{hvd.rank()}") as writer:
    writer.save(job.variables, 1, {})

# As a start has them: Keras numbers the layers of a process.
tf.keras.backend.clear_session()
job = job_of(finished)
rank_checkpoint.resume(finished, job.variables, options.learned(job.settings))
answers["states_resumed"] = state(job)
answers["accuracy"] = digits.evaluate(job.model, job.data)
guesses = np.argmax(job.model(job.data.test_images).numpy(), axis=1)
answers["accuracy_unsharded"] = float(np.mean(guesses == job.data.test_labels))


def fail() -> None:
    raise UserError(f"seen by rank {hvd.rank()}")


answers["heard"] = heard(lambda: on_rank_zero(fail))
other = job_of(finished, "--seed", "1")
answers["rejected"] = heard(lambda: rank_checkpoint.resume(finished, other.variables, options.learned(other.settings)))

# Four steps; the last one has 357 images, 179 on rank 0 and 178 on rank 1. Small ones: where a rounding error moves one
# pixel over the edge of a ReLU, its gradient jumps (at a rate of 0.1 by 1e-5 in float32, and by 1e-17 in float64).
job = job_of(empty, "--batch-size", "180", "--learning-rate", "0.02")
before = [variable.numpy() for variable in job.model.variables]
train_epoch(job)
after = [variable.numpy() for variable in job.model.variables]
answers["steps"] = job.steps_per_epoch
answers["moved"] = max(float(np.abs(ours - theirs).max()) for ours, theirs in zip(after, before, strict=True))
pairs = zip(after, one_big_batch(job), strict=True)
answers["distance"] = max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs)

if hvd.rank() == 0:
    print(json.dumps(answers), flush=True)
barrier()
