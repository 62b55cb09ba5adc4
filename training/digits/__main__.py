"""Trains a small network on scikit-learn's handwritten digits: the shortest job that has every part of a real one.

mpirun -np 2 python -m training.digits --output-dir runs/digits
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from training.digits import digit_images, sharding
from training.digits.plan import Plan
from training.runtime import command_line, devices, elastic, files, results
from training.runtime.distributed import RankParser, barrier, on_first_rank, run, say
from training.runtime.errors import check_finite
from training.runtime.resume import resume, save

# --------------------------------------------------------------------------------------------------------- options


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line."""
    parser = RankParser(prog="python -m training.digits", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--output-dir", type=Path, required=True, help="folder for checkpoints/, tensorboard/ and results.json")
    add("--epochs", type=command_line.whole_number(1), default=12, help="passes over the images (%(default)s)")
    add("--batch-size", type=command_line.whole_number(1), default=16, help="images per rank and step (%(default)s)")
    add(
        "--learning-rate",
        type=command_line.positive_number,
        default=0.015,
        help="of one rank, times the ranks (%(default)s)",
    )
    add("--warmup-epochs", type=command_line.whole_number(0), default=3, help="epochs to reach that rate (%(default)s)")
    seed = command_line.whole_number(0, 2**32 - 1)
    add("--seed", type=seed, default=0, help="of the weights and the order of images (%(default)s)")
    return parser.parse_args(arguments)


# ----------------------------------------------------------------------------------------------------------- model


def build(seed: int) -> tuple[tf.keras.Model, tf.keras.optimizers.Optimizer]:
    """Makes the model and its optimizer, with all their variables."""
    tf.keras.utils.set_random_seed(seed)
    layers = tf.keras.layers
    # Without batch normalization, whose statistics each rank would gather for itself.
    model = tf.keras.Sequential(
        [
            layers.Conv2D(32, 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(momentum=0.9, nesterov=True)
    # Otherwise the momentum would come into being in the first step, too late to be restored and broadcast.
    optimizer.build(model.trainable_variables)
    return model, optimizer


# -------------------------------------------------------------------------------------------------- train and test


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a rank trains, with what, and how."""

    options: argparse.Namespace
    plan: Plan
    data: digit_images.Digits
    model: tf.keras.Model
    optimizer: tf.keras.optimizers.Optimizer
    throughput: results.Throughput

    @property
    def settings(self) -> dict[str, float]:
        """The options that decide what is learned."""
        names = ("epochs", "batch_size", "learning_rate", "warmup_epochs", "seed")
        return {f"--{name.replace('_', '-')}": getattr(self.options, name) for name in names}

    @property
    def variables(self) -> list[tf.Variable]:
        """All that training changes: weights, momentum, and the count of steps."""
        return [*self.model.variables, *self.optimizer.variables]


def make_train_step(job: Job) -> Callable[..., tf.Tensor]:
    """Compiles one step: it changes the weights and returns the sum of the losses of this rank's images."""
    model = job.model

    # AutoGraph would rewrite Horovod too, at six seconds a start, and nothing in here needs it.
    @tf.function(autograph=False)
    def train_step(images: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor, global_count: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            # Smoothed labels, because 1,437 images are soon known by heart.
            loss_of = tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1, reduction="none")
            losses = loss_of(tf.one_hot(labels, 10), model(images, training=True))
            loss_sum = tf.reduce_sum(losses * weights)
            loss = loss_sum / global_count
        # Horovod: each rank divides by the images of all ranks, so the gradients add up to the mean of one big batch,
        # in the last step too, where a rank may have fewer images. As one group they always add up in the same order;
        # not where ranks may be lost, because Horovod 0.28 recognizes the failure of single operations only.
        tape = hvd.DistributedGradientTape(tape, op=hvd.Sum, num_groups=0 if elastic.active() else 1)
        gradients = tape.gradient(loss, model.trainable_variables)
        job.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss_sum

    return train_step


def train_epoch(job: Job, train_step: Callable[..., tf.Tensor], epoch: int) -> float:
    """Trains one epoch on this rank's images and returns the mean loss of all ranks' images."""
    plan, data = job.plan, job.data
    order = sharding.epoch_order(plan.images, job.options.seed, epoch)
    loss_sum = 0.0
    # Horovod: each image goes to one rank, and every rank makes as many steps as the others.
    for step, batch in enumerate(sharding.batches(order, plan.batch_size, hvd.rank(), hvd.size())):
        started = time.perf_counter()
        job.optimizer.learning_rate = plan.rate(epoch + step / plan.steps_per_epoch)
        images, labels = data.train_images[batch.indices], data.train_labels[batch.indices]
        # As a number, so that the clock is not read before the step has ended.
        loss_sum += float(train_step(images, labels, batch.weights, tf.constant(batch.global_count, tf.float32)))
        job.throughput.step(int(batch.weights.sum()), time.perf_counter() - started)
    # Horovod: the loss that is told is that of all images, not of rank 0's.
    return float(hvd.allreduce(tf.constant(loss_sum, tf.float64), op=hvd.Sum, name="loss")) / plan.images


def evaluate(model: tf.keras.Model, data: digit_images.Digits) -> float:
    """Returns the share of the test images that the model reads rightly."""
    # Horovod: each rank tests its share. Whole numbers are added, so the result is the same for any number of ranks.
    own = sharding.shard(np.arange(len(data.test_labels)), hvd.rank(), hvd.size())
    guesses = np.argmax(model(data.test_images[own], training=False).numpy(), axis=1)
    correct = tf.constant(np.sum(guesses == data.test_labels[own]), tf.int64)
    return int(hvd.allreduce(correct, op=hvd.Sum, name="correct")) / len(data.test_labels)


# ------------------------------------------------------------------------------------------------------------ main


def make_plan(given: argparse.Namespace, images: int) -> Plan:
    """Does the arithmetic for the ranks that are there now."""
    return Plan(
        images=images,
        world_size=hvd.size(),
        batch_size=given.batch_size,
        epochs=given.epochs,
        learning_rate=given.learning_rate,
        warmup_epochs=given.warmup_epochs,
    )


def prepare(given: argparse.Namespace) -> Job:
    """Checks the options and makes the data, the plan and the model."""
    data = digit_images.load()
    plan = make_plan(given, len(data.train_images))
    model, optimizer = build(given.seed)
    return Job(options=given, plan=plan, data=data, model=model, optimizer=optimizer, throughput=results.Throughput())


def train(job: Job, device: str, start: int, before: dict[str, Any], check_hosts: elastic.CheckHosts) -> dict[str, Any]:
    """Trains the epochs that are left, with a checkpoint after each, and returns what results.json will say."""
    output, outcome = job.options.output_dir, before
    seconds_before, world_sizes = before.get("training_seconds", 0.0), before.get("world_sizes", [])
    curves = results.Curves(output)
    train_step = make_train_step(job)
    for epoch in range(start + 1, job.plan.epochs + 1):
        loss = train_epoch(job, train_step, epoch - 1)
        check_finite(loss, epoch)
        accuracy = evaluate(job.model, job.data)
        outcome = {
            "accuracy": accuracy,
            **results.speeds(job.throughput.images_per_second),
            "training_seconds": round(seconds_before + job.throughput.seconds, 3),
            "world_size": hvd.size(),
            "world_sizes": [*world_sizes, *[hvd.size()] * (epoch - start)],
            "epochs": epoch,
            "global_batch_size": job.plan.global_batch_size,
            "device": device,
            "versions": results.versions(),
        }
        curves.add(epoch, {"loss": loss, "test accuracy": accuracy, "learning rate": job.plan.rate(epoch)})
        metadata = {"epoch": epoch, "settings": job.settings, "results": outcome}
        save(output, job.variables, int(job.optimizer.iterations), metadata)
        say(
            f"epoch {epoch}/{job.plan.epochs}: loss {loss:.4f}, test accuracy {accuracy:.4f}, "
            f"{outcome['images_per_second']:,.0f} images/s"
        )
        if epoch < job.plan.epochs:
            check_hosts()
    return outcome


def complete(job: Job, device: str, check_hosts: elastic.CheckHosts) -> None:
    """Goes from the newest checkpoint to results.json."""
    given = job.options
    # Horovod: rank 0 alone writes, so it alone must be able to; all learn of it if it cannot.
    on_first_rank(lambda: files.make_writable(given.output_dir))
    say(f"ranks: {hvd.size()}, of them {hvd.local_size()} on the machine of rank 0, which computes on: {device}")
    for sentence in job.plan.sentences():
        say(sentence)

    written = resume(given.output_dir, job.variables, job.settings)
    start, outcome = written.get("epoch", 0), written.get("results", {})
    if start == given.epochs:
        say(f"nothing to do: {given.output_dir} holds this run, finished, with test accuracy {outcome['accuracy']:.4f}")
    elif start:
        say(f"going on by epochs after epoch {start}: written by {written['world_size']} ranks, now {hvd.size()}")
    if start < given.epochs:
        outcome = train(job, device, start, outcome, check_hosts)
    # Horovod: rank 0 alone writes. A finished run writes again what its checkpoint says, in case the file was damaged.
    if hvd.rank() == 0:
        files.write_json(given.output_dir / "results.json", outcome)
    # Horovod: nobody leaves before rank 0 has written, because the first to leave shuts Horovod down for all.
    barrier()


def main() -> None:
    """Goes from the command line to a finished run, with the ranks that there are."""
    given = parse_options()
    # Horovod: one GPU per rank of this machine, chosen before anything touches a device.
    device = devices.pin(hvd.local_rank(), hvd.local_size())
    # A stopped and resumed run shall end with the very weights of an uninterrupted one.
    tf.config.experimental.enable_op_determinism()
    job = prepare(given)

    def program(check_hosts: elastic.CheckHosts) -> None:
        plan = make_plan(given, job.plan.images)
        complete(replace(job, plan=plan, throughput=results.Throughput()), device, check_hosts)

    elastic.run(program, job.variables)


if __name__ == "__main__":
    # Horovod: find the other ranks; without mpirun this one is alone.
    hvd.init()
    sys.exit(run(main))
