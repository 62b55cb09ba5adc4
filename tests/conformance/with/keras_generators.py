"""Keras' `fit` on samples that a function reads and augments at random, in threads; with Horovod."""

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from exact_resume.keras import ResumeCallback

hvd.init()
resume = ResumeCallback("out", seed=1, checkpoint_every="9steps")
images = np.random.default_rng(0).normal(size=(800, 12, 12, 1)).astype("float32")


def sample(number: int, random: np.random.Generator) -> tuple[np.ndarray, int]:
    """Read an image, and flip and shift it at random."""
    image, label = images[number], int(images[number].mean() > 0)
    if random.random() < 0.5:
        image = image[:, ::-1]
    return np.roll(image, random.integers(-2, 3), axis=0), label


model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.3),
        tf.keras.layers.Dense(2),
    ]
)
model.compile(
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size(), momentum=0.9)),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(
    resume.batches(sample, samples=len(images), batch_size=8, workers=2),
    epochs=6,
    verbose=2 if hvd.rank() == 0 else 0,
    callbacks=[resume],
)
if hvd.rank() == 0:
    model.save_weights("weights.h5")
