"""Train on handwritten digits with Keras and Horovod; put your data and your model in their place.

trainctl run-local train.py --ranks 2
"""

import argparse
import os
from pathlib import Path

# TensorFlow's notes on the machine, twenty lines from each rank.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# The module with Keras' parts: horovod.tensorflow has no DistributedOptimizer for `fit`, and no callbacks.
import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from exact_resume.keras import ResumeCallback
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 0

parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
# No job has this folder: a job and the script, run at once, write into two.
parser.add_argument("--output-dir", type=Path, default=Path("runs/train.py"), help="of the checkpoints (%(default)s)")
parser.add_argument("--epochs", type=int, default=12, help="passes over the images (%(default)s)")
parser.add_argument("--batch-size", type=int, default=32, help="images per rank and step (%(default)s)")
parser.add_argument("--learning-rate", type=float, default=0.02, help="of one rank, times the ranks (%(default)s)")
parser.add_argument("--checkpoint-every", default="10min", help="such as 500steps, 2epochs or 10min (%(default)s)")
options = parser.parse_args()

# Horovod: every rank runs this script; from here on each knows its number and how many there are.
hvd.init()

# Horovod: each rank of a machine computes on another of its GPUs.
if gpus := tf.config.list_physical_devices("GPU"):
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

# The data ships inside scikit-learn. Every rank has all of it, and trains on its part of each epoch.
digits = load_digits()
images, labels = digits.images[..., np.newaxis].astype(np.float32) / 16, digits.target
images, test_images, labels, test_labels = train_test_split(images, labels, test_size=360, random_state=SEED)

# Before the model: it seeds the weights. A killed run resumes at the next step, with the same results.
resume = ResumeCallback(
    options.output_dir,
    seed=SEED,
    checkpoint_every=options.checkpoint_every,
    settings={"batch_size": options.batch_size, "learning_rate": options.learning_rate},
)
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
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(options.learning_rate * hvd.size(), momentum=0.9))
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer, loss, metrics=["accuracy"])
model.fit(
    resume.batches(images, labels, batch_size=options.batch_size),
    epochs=options.epochs,
    validation_data=(test_images, test_labels),
    callbacks=[resume],
    verbose=0,
)
