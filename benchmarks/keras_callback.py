"""Measure the time that `ResumeCallback` takes of a step of 100 ms: `python -m benchmarks.keras_callback`.

Seconds of the processor, so that other work of the machine does not count; the step waits in place of computing.
"""

import statistics
import tempfile
import time
from typing import Any

import numpy as np
import tensorflow as tf

from training.keras import ResumeCallback

_STEP_SECONDS = 0.1
_STEPS = 100
_BATCH = 32


class _Timed(ResumeCallback):
    """Measures the seconds of the processor at the end of each step."""

    seconds: list[float]

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Do it, and measure it."""
        began = time.thread_time()
        super().on_train_batch_end(batch, logs)
        self.seconds.append(time.thread_time() - began)


def main() -> None:
    """Train with the callback, and print what it took."""
    with tempfile.TemporaryDirectory() as output:
        resume = _Timed(output, seed=1)
        resume.seconds = []
        images = np.zeros((_STEPS * _BATCH, 32), "float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
        wait = tf.keras.callbacks.LambdaCallback(on_train_batch_begin=lambda *_: time.sleep(_STEP_SECONDS))
        data = resume.batches(images, images[:, 0], batch_size=_BATCH)
        model.fit(data, verbose=0, callbacks=[resume, wait])
    # Without the first, which traces nothing, but looks for random operations in what was traced.
    taken = resume.seconds[1:]
    mean, median = statistics.mean(taken), statistics.median(taken)
    print(
        f"of {len(taken)} steps of {_STEP_SECONDS * 1000:.0f} ms: mean {mean * 1e3:.3f} ms "
        f"({mean / _STEP_SECONDS:.2%}), median {median * 1e3:.3f} ms ({median / _STEP_SECONDS:.2%})"
    )


if __name__ == "__main__":
    main()
