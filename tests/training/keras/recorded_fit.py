"""A script with Horovod that records the samples of each step, and may stop or kill itself after some."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf

from training.keras import ResumeCallback

ENDS = {"stop": signal.SIGTERM, "kill": signal.SIGKILL}
output, steps = Path(sys.argv[1]), int(sys.argv[2])
hvd.init()
resume = ResumeCallback(output, seed=1, checkpoint_every="4steps")
x = np.random.default_rng(0).normal(size=(120, 4)).astype("float32")
# The first feature is the number of the sample.
x[:, 0] = np.arange(120)


class Recorded(tf.keras.Model):
    """A model that keeps the numbers of its last samples in a variable that is no weight."""

    def __init__(self) -> None:
        super().__init__()
        layers = tf.keras.layers
        self.inner = tf.keras.Sequential(
            [layers.Dense(8, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(1)]
        )
        self.seen = tf.Variable(tf.zeros(4), trainable=False, name="seen")

    def call(self, inputs: Any, training: bool = False) -> Any:
        if training:
            self.seen.assign(inputs[:, 0])
        return self.inner(inputs[:, 1:], training=training)


class Record(tf.keras.callbacks.Callback):
    """Writes the samples of each step, and stops or kills the rank after so many."""

    done: Any = iter(range(1, 1000))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with (output / f"samples-{hvd.rank()}").open("a") as file:
            file.write(f"{' '.join(str(int(number)) for number in self.model.seen.numpy())}\n")
        if next(self.done) == steps:
            os.kill(os.getpid(), ENDS[sys.argv[3]])


model = Recorded()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.01)), "mse")
model.fit(resume.batches(x, x[:, 1], batch_size=4), epochs=1, verbose=0, callbacks=[Record(), resume])
if hvd.rank() == 0:
    np.savez(output / "weights.npz", *model.inner.get_weights())
