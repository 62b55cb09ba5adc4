"""Train a small network on scikit-learn's handwritten digits: the shortest complete job.

mpirun -np 2 python -m training.digits --output-dir runs/digits

A stop request and the watchdog are in `training.resnet50`.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.digits import digit_images
from training.runtime import command_line, curve, devices, elastic, files, results
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.distributed import RankParser, barrier, on_rank_zero, run, say
from training.runtime.errors import UserError
from training.runtime.rank_checkpoint import resume
from training.runtime.run_lock import locked
from training.runtime.schedule import Schedule, batch_sentence, check_batch_size

# -------------------------------------------------------------------------------------------------------- settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    output_dir: Path
    epochs: int
    batch_size: int
    learning_rate: float
    warmup_epochs: int
    seed: int

    @property
    def resume_settings(self) -> dict[str, float]:
        """The options that decide what is learned: a run resumes only with the same."""
        names = ("epochs", "batch_size", "learning_rate", "warmup_epochs", "seed")
        return {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    parser = RankParser(prog="python -m training.digits", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--output-dir", type=Path, required=True, help="folder for checkpoints/, tensorboard/, results.json, curve.svg")
    add("--epochs", type=command_line.whole_number(1), default=12, help="passes over the images (%(default)s)")
    add("--batch-size", type=command_line.whole_number(1), default=16, help="images per rank and step (%(default)s)")
    rate = command_line.positive_number
    add("--learning-rate", type=rate, default=0.015, help="of one rank, times the ranks (%(default)s)")
    add("--warmup-epochs", type=command_line.whole_number(0), default=3, help="epochs to reach that rate (%(default)s)")
    seed = command_line.whole_number(0, 2**32 - 1)
    add("--seed", type=seed, default=0, help="of the weights and the order of images (%(default)s)")
    return Settings(**vars(parser.parse_args(arguments)))


# ----------------------------------------------------------------------------------------------------------- model


def build(seed: int) -> tuple[tf.keras.Model, tf.keras.optimizers.Optimizer]:
    """Return the model and its optimizer, with all their variables."""
    tf.keras.utils.set_random_seed(seed)
    layers = tf.keras.layers
    # Without batch normalization, whose statistics would differ from rank to rank.
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
    # Otherwise the first step would create the momentum, too late to be restored and broadcast.
    optimizer.build(model.trainable_variables)
    return model, optimizer


# ---------------------------------------------------------------------------------------------------------- images


@dataclass(frozen=True, slots=True)
class Batch:
    """A rank's part of one step, always of the same shape."""

    indices: NDArray[np.int64]
    """Positions in the training set."""
    weights: NDArray[np.float32]
    """1 for an image that counts, 0 for one that only fills up the batch."""
    global_count: int
    """Images that count over all ranks."""


def epoch_order(images: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """Shuffle the training set for one epoch: the same on every rank, and the same when the epoch is run again."""
    return np.random.default_rng([seed, epoch]).permutation(images)


def shard(order: NDArray[np.int64], rank: int, size: int) -> NDArray[np.int64]:
    """Return a rank's part: the parts are disjoint, cover everything, and differ by one image at most.

    Every `size`-th image and no block, so that the ranks together see in each step what one rank would see with a
    batch `size` times as large.
    """
    return order[rank::size]


def batches(order: NDArray[np.int64], batch_size: int, rank: int, size: int) -> Iterator[Batch]:
    """Cut a rank's part into batches, the same number on every rank: for a missing one the others would wait."""
    own = shard(order, rank, size)
    for start in range(0, -(-len(order) // (batch_size * size)) * batch_size, batch_size):
        part = own[start : start + batch_size]
        missing = batch_size - len(part)
        yield Batch(
            indices=np.concatenate([part, np.zeros(missing, part.dtype)]),
            weights=np.concatenate([np.ones(len(part), np.float32), np.zeros(missing, np.float32)]),
            global_count=min(batch_size * size, len(order) - start * size),
        )


# -------------------------------------------------------------------------------------------------- train and test


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a rank trains, with what, and how."""

    settings: Settings
    schedule: Schedule
    data: digit_images.Digits
    model: tf.keras.Model
    optimizer: tf.keras.optimizers.Optimizer
    throughput: results.Throughput

    @property
    def variables(self) -> list[tf.Variable]:
        """All that training changes: weights, momentum, and the count of steps."""
        return [*self.model.variables, *self.optimizer.variables]

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch with the current ranks; the last one has the images that remain."""
        return math.ceil(len(self.data.train_images) / (self.settings.batch_size * int(hvd.size())))

    def rate(self, epoch: float) -> float:
        """Return the learning rate after this number of epochs: that of one rank, times the ranks after the warm-up."""
        base = self.settings.learning_rate
        # Horovod: the batch grows with the ranks, and the rate with the batch.
        return self.schedule.rate(epoch, peak=base * hvd.size(), start=base)

    def sentences(self) -> list[str]:
        """Show the arithmetic so that a person can check it."""
        settings, images, ranks, steps = self.settings, len(self.data.train_images), hvd.size(), self.steps_per_epoch
        base, batch = settings.learning_rate, settings.batch_size * ranks
        return [
            batch_sentence(settings.batch_size, ranks),
            f"steps: {images} training images / {batch}, rounded up, = {steps} per epoch; "
            f"x {settings.epochs} epochs = {steps * settings.epochs}",
            f"learning rate: {base:g} per rank x {ranks} ranks = {base * ranks:g}, "
            f"{self.schedule.sentence(start=base)}",
        ]


#: A compiled step: (images, labels, weights, images of all ranks) to the sum of the losses of this rank's images.
TrainStep = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


def make_train_step(job: Job) -> TrainStep:
    """Compile one step, which changes the weights."""
    model = job.model

    # AutoGraph would rewrite Horovod too, in six seconds at every start, and nothing in here needs it.
    @tf.function(autograph=False)
    def train_step(images: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor, global_count: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            # Smoothed labels, because the network soon remembers all 1,437 images.
            loss_of = tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1, reduction="none")
            losses = loss_of(tf.one_hot(labels, 10), model(images, training=True))
            loss_sum = tf.reduce_sum(losses * weights)
            loss = loss_sum / global_count
        # Horovod: each rank divides by the images of all ranks, so the gradients add up to the mean of one big batch,
        # also in the last step, where a rank may have fewer images. As one group they always add up in the same order;
        # not where ranks may be lost, because Horovod 0.28 recognizes the failure of single operations only.
        tape = hvd.DistributedGradientTape(tape, op=hvd.Sum, num_groups=0 if elastic.active() else 1)
        gradients = tape.gradient(loss, model.trainable_variables)
        job.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss_sum

    compiled: TrainStep = train_step
    return compiled


def train_epoch(job: Job, train_step: TrainStep, epoch: int) -> float:
    """Train one epoch on this rank's images and return the mean loss of all ranks' images."""
    data, batch_size = job.data, job.settings.batch_size
    order = epoch_order(len(data.train_images), job.settings.seed, epoch)
    loss_sum = 0.0
    # Horovod: each image goes to one rank, and every rank makes as many steps as the others.
    for step, batch in enumerate(batches(order, batch_size, hvd.rank(), hvd.size())):
        started = time.perf_counter()
        job.optimizer.learning_rate = job.rate(epoch + step / job.steps_per_epoch)
        images, labels = data.train_images[batch.indices], data.train_labels[batch.indices]
        # As a number, so that the clock is not read before the step has ended.
        loss_sum += float(train_step(images, labels, batch.weights, tf.constant(batch.global_count, tf.float32)))
        job.throughput.step(int(batch.weights.sum()), time.perf_counter() - started)
    # Horovod: the printed loss is that of all images, not of rank zero's.
    return float(hvd.allreduce(tf.constant(loss_sum, tf.float64), op=hvd.Sum, name="loss")) / len(order)


def evaluate(model: tf.keras.Model, data: digit_images.Digits) -> float:
    """Return the share of the test images that the model recognizes."""
    # Horovod: each rank tests its part. Whole numbers are added, so the result is the same for any number of ranks.
    own = shard(np.arange(len(data.test_labels)), hvd.rank(), hvd.size())
    guesses = np.argmax(model(data.test_images[own], training=False).numpy(), axis=1)
    correct = tf.constant(np.sum(guesses == data.test_labels[own]), tf.int64)
    return int(hvd.allreduce(correct, op=hvd.Sum, name="correct")) / len(data.test_labels)


def check_finite(loss: float, epoch: int) -> None:
    """Reject a run that has diverged, before its weights become a checkpoint.

    Raises:
        UserError: The loss is not a number, or infinite. Every rank has the same loss, so all of them raise.
    """
    if not math.isfinite(loss):
        raise UserError(
            f"the loss of epoch {epoch} is {loss}; the checkpoint before it is kept: "
            "lower '--learning-rate' or raise '--warmup-epochs', with another '--output-dir'"
        )


# ------------------------------------------------------------------------------------------------------------ main


def prepare(settings: Settings) -> Job:
    """Return the job with its data and model."""
    schedule = Schedule(epochs=settings.epochs, warmup_epochs=settings.warmup_epochs)
    data = digit_images.load()
    check_batch_size(settings.batch_size, images=len(data.train_images), ranks=hvd.size())
    model, optimizer = build(settings.seed)
    return Job(
        settings=settings,
        schedule=schedule,
        data=data,
        model=model,
        optimizer=optimizer,
        throughput=results.Throughput(),
    )


def train(
    job: Job,
    device: str,
    writer: CheckpointWriter,
    start: int,
    before: dict[str, Any],
    check_hosts: elastic.CheckHosts,
) -> dict[str, Any]:
    """Train the remaining epochs, with a checkpoint after each, and return the content of results.json."""
    epochs, outcome = job.settings.epochs, before
    seconds_before, history = before.get("training_seconds", 0.0), before.get("history", [])
    curves = results.Curves(job.settings.output_dir)
    train_step = make_train_step(job)
    for epoch in range(start + 1, epochs + 1):
        loss = train_epoch(job, train_step, epoch - 1)
        check_finite(loss, epoch)
        accuracy = evaluate(job.model, job.data)
        history = [*history, curve.point(epoch, hvd.size(), loss={"training": loss}, accuracy={"test": accuracy})]
        outcome = {
            "accuracy": accuracy,
            **results.speeds(job.throughput.images_per_second),
            "training_seconds": round(seconds_before + job.throughput.seconds, 3),
            "world_size": hvd.size(),
            "epochs": epoch,
            "global_batch_size": job.settings.batch_size * hvd.size(),
            "device": device,
            "versions": results.versions(),
            "history": history,
        }
        curves.add(epoch, {"loss": loss, "test accuracy": accuracy, "learning rate": job.rate(epoch)})
        metadata = {"epoch": epoch, "settings": job.settings.resume_settings, "results": outcome}
        writer.save(job.variables, int(job.optimizer.iterations), metadata)
        say(
            f"epoch {epoch}/{epochs}: loss {loss:.4f}, test accuracy {accuracy:.4f}, "
            f"{outcome['images_per_second']:,.0f} images/s"
        )
        if epoch < epochs:
            check_hosts()
    writer.wait()
    return outcome


def complete(job: Job, device: str, check_hosts: elastic.CheckHosts) -> None:
    """Train from the newest checkpoint to results.json."""
    settings = job.settings
    check_batch_size(settings.batch_size, images=len(job.data.train_images), ranks=hvd.size())
    # Horovod: rank zero alone writes, so it alone must be able to; all ranks learn of it if it cannot.
    on_rank_zero(lambda: files.make_writable(settings.output_dir))
    with locked(settings.output_dir), CheckpointWriter(settings.output_dir) as writer:
        outcome = finish(job, device, writer, check_hosts)
        # Horovod: rank zero alone writes. A finished run writes its results again, in case the file was damaged.
        if hvd.rank() == 0:
            files.write_json(settings.output_dir / "results.json", outcome)
    # Horovod: no rank leaves before rank zero has written, because the first to leave shuts Horovod down for all.
    barrier()


def finish(job: Job, device: str, writer: CheckpointWriter, check_hosts: elastic.CheckHosts) -> dict[str, Any]:
    """Train from the newest checkpoint to the end, and return the content of results.json."""
    settings = job.settings
    say(f"ranks: {hvd.size()}, of them {hvd.local_size()} on the machine of rank 0, which computes on: {device}")
    for sentence in job.sentences():
        say(sentence)

    written = resume(settings.output_dir, job.variables, settings.resume_settings, names=("epoch", "results"))
    start, outcome = written.get("epoch", 0), written.get("results", {})
    if start == settings.epochs:
        accuracy = outcome["accuracy"]
        say(f"nothing to do: {settings.output_dir} holds this run, finished, with test accuracy {accuracy:.4f}")
    elif start:
        say(f"resuming after epoch {start}: written by {written['world_size']} ranks, now {hvd.size()}")
    return train(job, device, writer, start, outcome, check_hosts) if start < settings.epochs else outcome


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    settings = parse()
    # Horovod: one GPU per rank of this machine, chosen before anything touches a device.
    device = devices.pin(hvd.local_rank(), hvd.local_size())
    # A stopped and resumed run must end with the same weights as an uninterrupted one.
    tf.config.experimental.enable_op_determinism()
    job = prepare(settings)

    def program(check_hosts: elastic.CheckHosts) -> None:
        complete(replace(job, throughput=results.Throughput()), device, check_hosts)

    elastic.run(program, job.variables)
    curve.draw(settings.output_dir)


if __name__ == "__main__":
    # Horovod: find the other ranks; without mpirun this one is alone.
    hvd.init()
    sys.exit(run(main))
