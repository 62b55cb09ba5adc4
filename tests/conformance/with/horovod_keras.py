"""The shape of Horovod's own example (tensorflow2_keras_mnist.py): tf.data, warm-up, averaged metrics."""

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from exact_resume.keras import ResumeCallback

hvd.init()
resume = ResumeCallback("out", seed=1, checkpoint_every="9steps")
images = np.random.default_rng(0).normal(size=(800, 12, 12, 1)).astype("float32")
labels = (images.mean(axis=(1, 2, 3)) > 0).astype("int64")


def batches(epoch, own):
    """Return the batches of an epoch."""
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    shuffled = dataset.shuffle(len(images), seed=epoch, reshuffle_each_iteration=False)
    return own(shuffled).map(lambda image, label: (tf.cast(image, tf.float32) / 2, label)).batch(8)


model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(2),
        tf.keras.layers.Dropout(0.25),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.Dense(2, activation="softmax"),
    ]
)
scaled_rate = 0.001 * hvd.size()
model.compile(
    loss=tf.keras.losses.SparseCategoricalCrossentropy(),
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(scaled_rate)),
    metrics=["accuracy"],
)
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(initial_lr=scaled_rate, warmup_epochs=3, steps_per_epoch=50),
    resume,
]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("./checkpoint-{epoch}.h5", save_weights_only=True))
model.fit(
    resume.dataset(batches, samples=len(images), batch_size=8),
    callbacks=callbacks,
    epochs=6,
    verbose=2 if hvd.rank() == 0 else 0,
)
