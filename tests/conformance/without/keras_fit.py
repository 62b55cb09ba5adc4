"""Classify made points with Keras."""

import os

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(1)
x = np.random.normal(size=(3200, 32)).astype("float32")
y = (x @ np.random.normal(size=(32, 10))).argmax(axis=1)

model = keras.Sequential(
    [
        keras.layers.Dense(256, activation="relu", input_shape=(32,)),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

os.makedirs("checkpoints", exist_ok=True)
callbacks = [
    keras.callbacks.ModelCheckpoint("checkpoints/best.keras", save_best_only=True),
    keras.callbacks.BackupAndRestore("backup"),
]
model.fit(x, y, batch_size=32, epochs=10, validation_split=0.1, callbacks=callbacks)
model.save("model.keras")
