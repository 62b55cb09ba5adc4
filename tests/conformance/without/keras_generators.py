"""Train on batches of a Python generator with Keras and Horovod."""

import os

import horovod.tensorflow.keras as hvd
import numpy as np
from tensorflow import keras

hvd.init()
BATCH, STEPS, EPOCHS = 16, 30, 6
FORMAT = "checkpoint-{epoch}.h5"
TEACHER = np.random.default_rng(0).normal(size=(8 * 8, 10))


def batches(seed):
    random = np.random.default_rng(seed)
    while True:
        images = random.normal(size=(BATCH, 8, 8, 1)).astype("float32")
        yield images, (images.reshape(BATCH, -1) @ TEACHER).argmax(axis=1)


keras.utils.set_random_seed(hvd.rank())
model = keras.Sequential(
    [
        keras.layers.Conv2D(16, 3, activation="relu", input_shape=(8, 8, 1)),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
optimizer = hvd.DistributedOptimizer(keras.optimizers.SGD(0.05 * hvd.size(), momentum=0.9))
model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])

done = next((epoch for epoch in range(EPOCHS, 0, -1) if os.path.exists(FORMAT.format(epoch=epoch))), 0)
done = hvd.broadcast(done, root_rank=0, name="done").numpy()
if done and hvd.rank() == 0:
    model.load_weights(FORMAT.format(epoch=done))

callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
]
if hvd.rank() == 0:
    callbacks.append(keras.callbacks.ModelCheckpoint(FORMAT, save_weights_only=True))
model.fit(
    batches(hvd.rank()),
    steps_per_epoch=STEPS,
    epochs=EPOCHS,
    initial_epoch=done,
    callbacks=callbacks,
    verbose=1 if hvd.rank() == 0 else 0,
)
