"""Train a network on scikit-learn's handwritten digits with Horovod; put your data and your model in their place.

trainctl run-local train.py --ranks 2
"""

import argparse
import os
from pathlib import Path

# TensorFlow's notes on the machine, twenty lines from each rank.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from horovod.tensorflow.keras import DistributedOptimizer
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 0

parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
# No job has this folder: a job and the script, run at once, write into two.
parser.add_argument("--output-dir", type=Path, default=Path("runs/train.py"), help="of the checkpoints (%(default)s)")
parser.add_argument("--epochs", type=int, default=12, help="passes over the images (%(default)s)")
parser.add_argument("--batch-size", type=int, default=32, help="images per rank and step (%(default)s)")
parser.add_argument("--learning-rate", type=float, default=0.02, help="of one rank, times the ranks (%(default)s)")
options = parser.parse_args()

# Horovod: every rank runs this script; from here on each knows its number and how many there are.
hvd.init()
rank, ranks = hvd.rank(), hvd.size()

# Horovod: each rank of a machine computes on another of its GPUs.
if gpus := tf.config.list_physical_devices("GPU"):
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

# The data ships inside scikit-learn. Every rank splits it in the same way.
digits = load_digits()
images, labels = digits.images[..., np.newaxis].astype(np.float32) / 16, digits.target
images, test_images, labels, test_labels = train_test_split(images, labels, test_size=360, random_state=SEED)

tf.keras.utils.set_random_seed(SEED)
layers = tf.keras.layers
model = tf.keras.Sequential(
    [
        layers.Conv2D(32, 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(10),
    ]
)
# Horovod: the batch grows with the ranks, and the rate with the batch; each step uses the mean gradient of all ranks.
optimizer = DistributedOptimizer(tf.keras.optimizers.SGD(options.learning_rate * ranks, momentum=0.9))
optimizer.build(model.trainable_variables)
loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer, loss_function, metrics=["accuracy"])

# Horovod: rank 0 alone reads and writes checkpoints; the others get the epoch and every variable from it.
saved = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=tf.Variable(0))
checkpoints = tf.train.CheckpointManager(saved, str(options.output_dir / "checkpoints"), max_to_keep=3)
if rank == 0:
    checkpoints.restore_or_initialize()
hvd.broadcast_variables([*model.variables, *optimizer.variables, saved.epoch], root_rank=0)
done = int(saved.epoch)
if rank == 0:
    place = "GPUs" if gpus else "the CPU"
    print(f"{ranks} ranks x {options.batch_size} images on {place}, {done} of {options.epochs} epochs done", flush=True)

for epoch in range(done + 1, options.epochs + 1):
    # Horovod: each rank takes every n-th image of the same order, all ranks the same number: they wait for each other.
    order = np.random.default_rng([SEED, epoch]).permutation(len(images))
    own = order[rank::ranks][: len(images) // ranks]
    model.fit(images[own], labels[own], batch_size=options.batch_size, shuffle=False, verbose=0)
    # Horovod: each rank tests its part, and the result is the mean of all parts.
    results = model.evaluate(test_images[rank::ranks], test_labels[rank::ranks], verbose=0)
    loss, accuracy = hvd.allreduce(tf.constant(results), name="results").numpy()
    if rank == 0:
        saved.epoch.assign(epoch)
        checkpoints.save(checkpoint_number=epoch)
        print(f"epoch {epoch}: test loss {loss:.4f}, test accuracy {accuracy:.4f}", flush=True)
