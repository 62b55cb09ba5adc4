"""Ask two ranks about what they see of each other; rank zero prints the answers as JSON, in the last line."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.image_decoding import to_float
from training.imagenet.input_pipeline import Batch, Settings, SyntheticPipeline
from training.records.epoch_order import Order
from training.records.image_job import ImageJob
from training.records.run_data import Data
from training.resnet50.__main__ import Objective, evaluate, make_evaluation_step, parse, recipe_of, step_inputs
from training.runtime import files, horovod_ranks, rank_checkpoint, tensorflow_ranks, watchdog
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.distributed import average, barrier, on_every_rank, on_rank_zero
from training.runtime.errors import UserError
from training.runtime.loop import Loop
from training.runtime.network import Network, make_network
from training.runtime.position import Position
from training.runtime.stop_request import StopRequest
from training.runtime.task import TrainStep
from training.runtime.train_step import make_train_step

horovod_ranks.init()
output = Path(sys.argv[1])
answers: dict[str, object] = {}
layers = tf.keras.layers


def of_ranks(value: object) -> Any:
    return hvd.allgather_object(value, name="of ranks")


def step_of(network: Network, compression: str = "none") -> TrainStep:
    objective = Objective(classes=10, label_smoothing=0.1, weight_decay=0.01, lars=False)
    return make_train_step(
        network,
        objective.losses_of(network.model),
        decay=objective.decay,
        compression=compression,
        deterministic=True,
    )


def batch(start: int, count: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    random = np.random.default_rng(0)
    images = random.integers(256, size=(16, 8, 8, 3), dtype=np.uint8)
    labels = random.integers(10, size=16).astype(np.int32)
    flips = random.integers(2, size=16).astype(bool)
    return tuple(tf.constant(values[start : start + count]) for values in (images, labels, flips))


def plain_network() -> Network:
    """Return a network without batch normalization, which sees one rank's images only."""
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([layers.Conv2D(4, 3, input_shape=(8, 8, 3)), layers.Flatten(), layers.Dense(10)])
    return make_network(model, momentum=0.9)


def two_steps(network: Network, compression: str = "none") -> list[NDArray[np.float32]]:
    network.optimizer.learning_rate = 0.01
    step = step_of(network, compression)
    for _ in range(2):
        step(*batch(8 * hvd.rank(), 8))
    return [weight.numpy() for weight in network.model.trainable_variables]


def one_big_batch() -> list[NDArray[np.float32]]:
    """Train the same by hand: all images at once, and the L2 term in the loss."""
    model = plain_network().model
    sgd = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    images, labels, flips = batch(0, 16)
    for _ in range(2):
        with tf.GradientTape() as tape:
            logits = model(to_float(images, flips, "float32"))
            loss = tf.keras.losses.CategoricalCrossentropy(True, label_smoothing=0.1)(tf.one_hot(labels, 10), logits)
            # The bias of a convolution would be batch normalization's in ResNet-50; that of the last layer decays.
            decaying = [model.layers[0].kernel, model.layers[2].kernel, model.layers[2].bias]
            loss += 0.01 * tf.add_n([tf.nn.l2_loss(weight) for weight in decaying])
        sgd.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables, strict=True))
    return [weight.numpy() for weight in model.variables]


before = [weight.numpy() for weight in plain_network().model.trainable_variables]
after = two_steps(plain_network())
answers["moved"] = max(float(np.abs(a - b).max()) for a, b in zip(after, before, strict=True))
answers["distance"] = max(float(np.abs(a - b).max()) for a, b in zip(after, one_big_batch(), strict=True))
halved = two_steps(plain_network(), "fp16")
answers["distance with fp16"] = max(float(np.abs(a - b).max()) for a, b in zip(after, halved, strict=True))

# Rank 1's images become infinite, in float16.
tf.keras.mixed_precision.set_global_policy("mixed_float16")
poison = tf.Variable(1.0)
inputs = tf.keras.Input((8, 8, 3))
x = layers.Lambda(lambda images: images * tf.cast(poison, images.dtype))(inputs)
x = layers.BatchNormalization()(layers.Conv2D(4, 3, use_bias=False)(x))
outputs = layers.Dense(10, dtype="float32")(layers.GlobalAveragePooling2D()(x))
network = make_network(tf.keras.Model(inputs, outputs), momentum=0.9)
hvd.broadcast_variables([*network.variables, *network.statistics], root_rank=0)
network.optimizer.learning_rate = 0.01
step = step_of(network)


def state() -> list[float]:
    everything = [*network.model.trainable_variables, *network.statistics]
    return [float(tf.reduce_sum(variable)) for variable in everything]


step(*batch(8 * hvd.rank(), 8))
answers["scale before"] = of_ranks(float(network.optimizer.loss_scale))
good = state()
poison.assign(np.inf if hvd.rank() == 1 else 1.0)
_, changed = step(*batch(8 * hvd.rank(), 8))
answers["changed by infinity"] = of_ranks(bool(changed))
answers["scale after"] = of_ranks(float(network.optimizer.loss_scale))
answers["state kept"] = of_ranks(state() == good)
poison.assign(1.0)
_, changed = step(*batch(8 * hvd.rank(), 8))
answers["changed afterwards"] = of_ranks(bool(changed) and state() != good)

# The statistics of each rank's own images are different, and each rank finds its own again.
own = [statistic.numpy() for statistic in network.statistics]
answers["statistics"] = of_ranks([float(values.sum()) for values in own])
metadata = {"settings": {}, "position": Position(step=3).to_json()}
writer = CheckpointWriter(output)
writer.save(network.variables, 3, metadata, per_rank=network.statistics)
answers["saved"] = of_ranks(writer.wait())
for variable in [*network.variables, *network.statistics]:
    variable.assign(tf.zeros_like(variable))
resumed = rank_checkpoint.resume(output, network.variables, {}, per_rank=network.statistics)
answers["resumed at"] = of_ranks(resumed["position"]["step"])
answers["statistics again"] = of_ranks([float(values.numpy().sum()) for values in network.statistics])
answers["scale again"] = of_ranks(float(network.optimizer.loss_scale))
average(network.statistics)
answers["averaged"] = of_ranks([float(values.numpy().sum()) for values in network.statistics])

# A folder that is a file: nothing can be written, and the run continues.
(output / "blocked").write_text("")
writer = CheckpointWriter(output / "blocked")
writer.save(network.variables, 4, metadata)
answers["not saved"] = of_ranks(writer.wait())


def fail_on_rank_1() -> int:
    if hvd.rank() == 1:
        raise UserError("seen by rank 1")
    return int(hvd.rank())


try:
    on_every_rank(fail_on_rank_1)
    heard = "nothing"
except UserError as error:
    heard = str(error)
answers["heard"] = of_ranks(heard)
answers["values"] = on_every_rank(hvd.rank)


class PoisonedPipeline(SyntheticPipeline):
    """The second of three steps is bad: rank 1's images are infinite."""

    def training(self, order: Order, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        for step, batch in enumerate(super().training(order, epoch, start_step)):
            poison.assign(np.inf if step == 1 and hvd.rank() == 1 else 1.0)
            yield batch
        poison.assign(1.0)


def epoch_with_a_bad_step() -> list[float]:
    """Train an epoch of three steps, write its results, and return this rank's losses."""
    folder = output / "bad-step"
    given = ["--synthetic", "--output-dir", str(folder), "--batch-size=8", "--image-size=32", "--classes=10"]
    small = ClassifierSettings(synthetic=True, output_dir=folder, image_size=8, classes=10)
    pipeline = PoisonedPipeline(Settings(run=small, threads=1))
    data = Data(training=pipeline, training_images=48, validation=pipeline, validation_images=16, batch_size=8, seed=0)
    settings = parse([*given, "--epochs=1", "--warmup-epochs=0"]).on_device(gpu=False)
    recipe = recipe_of(settings)
    losses = []

    def noted(*batch: tf.Tensor) -> tuple[Mapping[str, tf.Tensor], tf.Tensor]:
        found, changed = step(*batch)
        losses.append(float(found["training"]))
        return found, changed

    job = ImageJob(
        settings=settings.with_recipe(recipe),
        device="cpu",
        versions=tensorflow_ranks.versions,
        data=data,
        network=network,
        optimizer=network.optimizer,
        train_step=noted,
        step_inputs=step_inputs,
        check_first_losses=lambda losses: None,
        evaluate=lambda: evaluate(make_evaluation_step(network.model), data.validation_batches()),
        rate=recipe.rate,
        rate_sentences=[],
        export=lambda: None,
    )
    outcome = Loop(job.task(), StopRequest(), CheckpointWriter(folder), {}, time.monotonic()).train(lambda: None)
    watchdog.finished()
    on_rank_zero(lambda: files.write_json(folder / "results.json", outcome))
    return losses


answers["losses around a bad step"] = of_ranks([str(loss) for loss in epoch_with_a_bad_step()])

if hvd.rank() == 0:
    print(json.dumps(answers), flush=True)
barrier()
