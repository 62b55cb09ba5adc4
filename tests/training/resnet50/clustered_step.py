"""Write ResNet-50's training steps as graphs with the clusters that XLA will compile, without running a step.

python -m tests.training.resnet50.clustered_step FOLDER PRECISION:COMPRESSION ...

TF_XLA_FLAGS must switch on clustering on the CPU and its graphs. They are in FOLDER/PRECISION:COMPRESSION/.
"""

import os
import sys
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf
from tensorflow.python.eager import cancellation

from training.resnet50.__main__ import make_job, parse, prepare
from training.runtime import horovod_ranks


def write(folder: Path, precision: str, compression: str) -> None:
    """Write the graphs of a step."""
    given = ["--synthetic", "--output-dir", str(folder), "--xla", "on", "--precision", precision]
    chosen, device, network = prepare(parse([*given, "--compression", compression]))
    train_step: Any = make_job(chosen, device, network).task().train_step
    size = chosen.image_size
    batch = (tf.zeros([2, size, size, 3], tf.uint8), tf.zeros([2], tf.int32), tf.zeros([2], tf.bool))
    step = train_step.get_concrete_function(*batch)
    folder.mkdir()
    os.environ["TF_DUMP_GRAPH_PREFIX"] = str(folder)
    # TensorFlow optimizes a function, and then finds that it is cancelled: compiling it would take minutes.
    cancelled = cancellation.CancellationManager()
    cancelled.start_cancel()
    try:
        with cancellation.CancellationManagerContext(cancelled):
            step(*batch)
    except tf.errors.CancelledError:
        del os.environ["TF_DUMP_GRAPH_PREFIX"]
    else:
        raise RuntimeError("the step ran, although it was cancelled")


if __name__ == "__main__":
    horovod_ranks.init()
    # The step of one rank has no all-reduces.
    hvd.global_process_set.size = lambda: 2
    for name in sys.argv[2:]:
        write(Path(sys.argv[1]) / name, *name.split(":"))
