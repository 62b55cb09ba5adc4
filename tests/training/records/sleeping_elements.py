"""Make elements that take time but no processor, and print how many of them were made at the same time.

Each line is of one place of the elements: the memory, and the first CPU as a device that they are copied to.
"""

import threading
import time
from typing import Any

import numpy as np
import tensorflow as tf

from training.records import stages
from training.records.stages import Pass, Work

THREADS, STEPS, BATCH = 5, 4, 20


class Sleeper:
    """The place of a decoder."""

    def __init__(self) -> None:
        self.most = self._now = 0
        self._counting = threading.Lock()

    def sleep(self, number: Any) -> Any:
        with self._counting:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.05)
        with self._counting:
            self._now -= 1
        return number


def most_at_once(device: str) -> int:
    sleeper = Sleeper()

    def make(number: tf.Tensor, same: tf.Tensor, weight: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.numpy_function(sleeper.sleep, [number], tf.int64, stateful=False), weight

    work = Work(
        read=lambda numbers: (np.array(numbers, np.int64),),
        columns=(tf.TensorSpec([None], tf.int64),),
        parse=lambda column, numbers: (column,),
        make=make,
    )
    numbers = np.arange(STEPS * BATCH).reshape(STEPS, BATCH)
    todo = Pass(numbers=numbers, weights=np.ones(numbers.shape, np.float32), work=work)
    dataset, close = stages.batches(todo, threads=THREADS, device=device)
    assert [batch[0].numpy().tolist() for batch in dataset] == numbers.tolist()
    close()
    return sleeper.most


for device in ("", "/CPU:0"):
    print(most_at_once(device))
