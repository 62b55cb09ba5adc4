"""Train a ResNet of some blocks for two steps, save it, and train a third one: in TensorFlow's environment."""

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from training.imagenet.image_decoding import to_float
from training.imagenet.recipe import sgd
from training.resnet50 import model
from training.resnet50.__main__ import Objective
from training.runtime import horovod_ranks
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.network import make_network
from training.runtime.train_step import make_train_step

BATCH, METADATA = 4, "metadata.json"

# Until the mean of the images is all that the batch normalization remembers: without, the logits of 16 blocks are
# hundreds, of which float32 keeps fewer digits behind the point.
SETTLED = 100


def main(folder: Path, blocks: tuple[int, ...]) -> None:
    """Write the run, and what it computes after it was saved; `blocks` are those of each stage."""
    written = json.loads((folder / METADATA).read_text())
    settings = written["settings"]
    horovod_ranks.init()
    tf.keras.utils.set_random_seed(0)
    pixels, classes = settings["--image-size"], settings["--classes"]
    network = make_network(model.network(pixels, classes, blocks, 64), settings["--momentum"])
    decay = settings["--weight-decay"]
    objective = Objective(classes=classes, label_smoothing=0.1, weight_decay=decay, lars=False)
    step = make_train_step(network, objective.losses_of(network.model), decay=objective.decay)
    recipe = sgd(
        learning_rate=settings["--learning-rate"],
        warmup_epochs=settings["--warmup-epochs"],
        weight_decay=decay,
        momentum=settings["--momentum"],
        epochs=settings["--epochs"],
    )
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (3, BATCH, pixels, pixels, 3), dtype=np.uint8)
    labels = random.integers(0, classes, (3, BATCH), dtype=np.int32)
    mirrored = random.integers(0, 2, (3, BATCH)).astype(bool)
    logits = np.zeros(())
    for number in range(3):
        if number == 2:
            for _ in range(SETTLED):
                network.model(to_float(tf.constant(images[2]), None, tf.float32), training=True)
            with CheckpointWriter(folder) as writer:
                writer.save(network.variables, 2, written, per_rank=network.statistics)
            logits = network.model(to_float(tf.constant(images[2]), None, tf.float32), training=False).numpy()
        epoch = written["position"]["epoch"] + number * BATCH / written["training_images"]
        network.optimizer.learning_rate = recipe.rate(epoch, BATCH)
        step(tf.constant(images[number]), tf.constant(labels[number]), tf.constant(mirrored[number]))
    after = [each.numpy() for each in network.model.trainable_variables]
    statistics = [each.numpy() for each in network.statistics]
    np.savez(folder / "keras.npz", images=images, labels=labels, mirrored=mirrored, logits=logits)
    np.savez(folder / "after.npz", *after, *statistics)


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(map(int, sys.argv[2:])))
