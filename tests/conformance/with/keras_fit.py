"""Keras' `fit` on arrays, with Horovod, dropout, batch normalization and a falling learning rate."""

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from exact_resume.keras import ResumeCallback

hvd.init()
resume = ResumeCallback("out", seed=1, checkpoint_every="9steps")
random = np.random.default_rng(0)
images = random.normal(size=(960, 12, 12, 1)).astype("float32")
labels = (images.mean(axis=(1, 2, 3)) > 0).astype("int64")

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.3),
        tf.keras.layers.Dense(2),
    ]
)
model.compile(
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.001 * hvd.size())),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    resume.batches(images[:800], labels[:800], batch_size=8),
    epochs=6,
    validation_data=(images[800:], labels[800:]),
    verbose=2 if hvd.rank() == 0 else 0,
    callbacks=[
        hvd.callbacks.MetricAverageCallback(),
        tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1),
        resume,
    ],
)
if hvd.rank() == 0:
    model.save_weights("weights.h5")
