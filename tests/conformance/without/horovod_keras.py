"""Train a small convolutional network with Keras and Horovod."""

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from tensorflow import keras

hvd.init()
random = np.random.default_rng(0)
images = random.normal(size=(2048, 12, 12, 1)).astype("float32")
labels = (images.reshape(2048, -1) @ random.normal(size=(144, 10))).argmax(axis=1)
dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.repeat().shuffle(2048, seed=hvd.rank()).batch(32)

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.layers.Conv2D(16, 3, activation="relu", input_shape=(12, 12, 1)),
        keras.layers.MaxPooling2D(),
        keras.layers.Dropout(0.25),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
scaled_lr = 0.001 * hvd.size()
optimizer = hvd.DistributedOptimizer(keras.optimizers.Adam(scaled_lr))
model.compile(
    loss="sparse_categorical_crossentropy",
    optimizer=optimizer,
    metrics=["accuracy"],
    experimental_run_tf_function=False,
)
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(initial_lr=scaled_lr, warmup_epochs=3, verbose=1),
]
if hvd.rank() == 0:
    callbacks.append(keras.callbacks.ModelCheckpoint("./checkpoint-{epoch}.h5"))
verbose = 1 if hvd.rank() == 0 else 0
model.fit(dataset, steps_per_epoch=64 // hvd.size(), callbacks=callbacks, epochs=6, verbose=verbose)
