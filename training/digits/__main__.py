"""Train a small network on scikit-learn's handwritten digits: the shortest complete job.

mpirun -np 2 python -m training.digits --output-dir runs/digits

Epochs, checkpoints, stop requests and results are in `training.runtime.loop`.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.digits import digit_images
from training.runtime import devices, elastic, horovod_ranks, options, tensorflow_ranks, training_run, watchdog
from training.runtime.command_line import path, positive_number, whole_number
from training.runtime.distributed import RankParser, run
from training.runtime.every import Every
from training.runtime.options import option
from training.runtime.position import Position
from training.runtime.schedule import Schedule, batch_sentence, check_batch_size
from training.runtime.stop_request import StopRequest
from training.runtime.task import Evaluation, Plan, StepInput, Task, TrainStep

# -------------------------------------------------------------------------------------------------------- settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field. A run resumes only with the same values of those marked `learned`."""

    output_dir: Path = option(path, "folder for checkpoints/, tensorboard/, results.json, curve.svg")
    epochs: int = option(whole_number(1), "passes over the images", default=12, learned=True)
    batch_size: int = option(whole_number(1), "images per rank and step", default=16, learned=True)
    learning_rate: float = option(positive_number, "of one rank, times the ranks", default=0.015, learned=True)
    warmup_epochs: int = option(whole_number(0), "epochs to reach that rate", default=3, learned=True)
    seed: int = option(whole_number(0, 2**32 - 1), "of the weights and the order of images", default=0, learned=True)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.digits", __doc__, arguments, parser=RankParser)


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

    Every `size`-th image and no block, so that the ranks together see in each step the images of one rank with a
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
    """The parts of a training: settings, data, model and optimizer."""

    settings: Settings
    device: str
    data: digit_images.Digits
    model: tf.keras.Model
    optimizer: tf.keras.optimizers.Optimizer

    @property
    def variables(self) -> list[tf.Variable]:
        """All that training changes: weights, momentum, and the count of steps."""
        return [*self.model.variables, *self.optimizer.variables]

    @property
    def schedule(self) -> Schedule:
        """The warm-up and the decay of the learning rate."""
        return Schedule(epochs=self.settings.epochs, warmup_epochs=self.settings.warmup_epochs)

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch with the current ranks; the last one has the images that remain."""
        return math.ceil(len(self.data.train_images) / (self.settings.batch_size * int(hvd.size())))

    def rate(self, position: Position) -> float:
        """Return the learning rate of a step: that of one rank, times the ranks after the warm-up."""
        base, global_batch = self.settings.learning_rate, self.settings.batch_size * hvd.size()
        epoch = position.epoch + position.images / (self.steps_per_epoch * global_batch)
        # Horovod: the batch grows with the ranks, and the rate with the batch.
        return self.schedule.rate(epoch, peak=base * hvd.size(), start=base)

    def sentences(self) -> list[str]:
        """Show the arithmetic so that a person can check it."""
        settings, images, ranks, steps = self.settings, len(self.data.train_images), hvd.size(), self.steps_per_epoch
        base, batch = settings.learning_rate, settings.batch_size * ranks
        return [
            f"ranks: {ranks}, of them {hvd.local_size()} on the machine of rank 0, which computes on: {self.device}",
            batch_sentence(settings.batch_size, ranks),
            f"steps: {images} training images / {batch}, rounded up, = {steps} per epoch; "
            f"x {settings.epochs} epochs = {steps * settings.epochs}",
            f"learning rate: {base:g} per rank x {ranks} ranks = {base * ranks:g}, "
            f"{self.schedule.sentence(start=base)}",
        ]

    def steps(self, position: Position) -> Iterator[StepInput]:
        """Yield this rank's part of each step that is left in the epoch."""
        data = self.data
        # Horovod: each image goes to one rank, and every rank makes as many steps as the others. The images before the
        # position are trained, by whatever number of ranks.
        order = epoch_order(len(data.train_images), self.settings.seed, position.epoch)[position.images :]
        for batch in batches(order, self.settings.batch_size, hvd.rank(), hvd.size()):
            images, labels = data.train_images[batch.indices], data.train_labels[batch.indices]
            tensors = (images, labels, batch.weights, tf.constant(batch.global_count, tf.float32))
            yield StepInput(tensors, share=float(batch.weights.mean()))


def make_train_step(job: Job) -> TrainStep:
    """Compile one step, which changes the weights."""
    model = job.model

    # AutoGraph would rewrite Horovod too, in six seconds at every start, and nothing in here needs it.
    @tf.function(autograph=False)
    def train_step(
        images: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor, global_count: tf.Tensor
    ) -> tuple[Mapping[str, tf.Tensor], tf.Tensor]:
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
        is_finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients])
        return {"training": tf.math.divide_no_nan(loss_sum, tf.reduce_sum(weights))}, is_finite

    compiled: TrainStep = train_step
    return compiled


def evaluate(model: tf.keras.Model, data: digit_images.Digits) -> float:
    """Return the share of the test images that the model recognizes."""
    # Horovod: each rank tests its part. Whole numbers are added, so the result is the same for any number of ranks.
    own = shard(np.arange(len(data.test_labels)), hvd.rank(), hvd.size())
    guesses = np.argmax(model(data.test_images[own], training=False).numpy(), axis=1)
    correct = tf.constant(np.sum(guesses == data.test_labels[own]), tf.int64)
    return int(hvd.allreduce(correct, op=hvd.Sum, name="correct")) / len(data.test_labels)


# ------------------------------------------------------------------------------------------------------------ main


def prepare(settings: Settings, device: str) -> Job:
    """Return the job with its data and model."""
    model, optimizer = build(settings.seed)
    return Job(settings=settings, device=device, data=digit_images.load(), model=model, optimizer=optimizer)


def make_task(job: Job) -> Task:
    """Return the task of the loop, for the current ranks."""
    settings, images = job.settings, len(job.data.train_images)
    check_batch_size(settings.batch_size, images=images, ranks=hvd.size())

    def evaluation() -> Evaluation:
        accuracy = evaluate(job.model, job.data)
        return Evaluation(
            results={"accuracy": accuracy}, accuracy={"test": accuracy}, sentence=f"test accuracy {accuracy:.4f}"
        )

    return Task(
        plan=Plan(
            output=settings.output_dir,
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            training_images=images,
            checkpoint_every=Every(1, "epochs"),
            evaluate_every=Every(1, "epochs"),
            # Nothing skips a step whose gradients are not finite: the weights are lost, and must not be saved.
            bad_steps=1,
            warm_up_steps=5,
            detailed=False,
        ),
        sentences=job.sentences(),
        settings=options.learned(settings),
        variables=job.variables,
        optimizer=job.optimizer,
        train_step=make_train_step(job),
        batches=job.steps,
        rate=job.rate,
        evaluate=evaluation,
        versions=tensorflow_ranks.versions,
        lower=f"'--batch-size' is {settings.batch_size}: give less",
        figures=lambda: {"device": job.device},
    )


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    stop = StopRequest()
    settings = parse()
    # Horovod: one GPU per rank of this machine, chosen before anything touches a device.
    device = devices.pin(hvd.local_rank(), hvd.local_size())
    # A stopped and resumed run must end with the same weights as an uninterrupted one.
    tf.config.experimental.enable_op_determinism()
    job = prepare(settings, device)
    training_run.train(lambda: make_task(job), job.variables, stop)


if __name__ == "__main__":
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    # Horovod: find the other ranks; without mpirun this one is alone.
    horovod_ranks.init()
    sys.exit(run(main))
