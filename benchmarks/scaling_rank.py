"""One rank of `make bench-scaling`: it takes one of ResNet-50's training steps for each line `step` of its input.

python -m benchmarks.scaling_rank TIMELINE

Rank zero prints `ready` after the warm-up, and the seconds of each step as JSON; another line than `step` ends it.
"""

import json
import sys
import time
from pathlib import Path

import horovod.tensorflow as hvd
import tensorflow as tf

from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.input_pipeline import Settings, SyntheticPipeline
from training.records import epoch_order
from training.resnet50 import model
from training.resnet50.__main__ import Objective
from training.runtime import horovod_ranks
from training.runtime.network import make_network
from training.runtime.train_step import make_train_step

IMAGE_SIZE, BATCH, WARM_UP = 224, 32, 2


def main(timeline: str) -> None:
    """Take the steps, with Horovod's timeline of them."""
    horovod_ranks.init()
    # Bound to a core by mpirun: one thread, or two would share it.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    network = make_network(model.build(IMAGE_SIZE, 1000), momentum=0.875)
    hvd.broadcast_variables([*network.variables, *network.statistics], root_rank=0)
    objective = Objective(classes=1000, label_smoothing=0.1, weight_decay=1 / 32768, lars=False)
    step = make_train_step(network, objective.losses_of(network.model), decay=objective.decay)
    order = epoch_order.training(10**6, (), batch_size=BATCH, rank=hvd.rank(), size=hvd.size(), seed=0, epoch=0)
    run = ClassifierSettings(synthetic=True, output_dir=Path("unused"), image_size=IMAGE_SIZE)
    batches = SyntheticPipeline(Settings(run=run, threads=1)).training(order, 0)

    def take_step() -> float:
        images, labels, flips, _ = next(batches)
        started = time.perf_counter()
        losses, _ = step(images, labels, flips)
        # As a number, so that the clock is not read before the step has ended.
        float(losses["training"])
        return time.perf_counter() - started

    for _ in range(WARM_UP):
        take_step()
    hvd.start_timeline(timeline)
    _print("ready")
    while _next_step():
        _print(json.dumps({"images": hvd.size() * BATCH, "seconds": take_step()}))
    hvd.stop_timeline()
    hvd.allreduce(tf.constant(0.0), name="end")


def _next_step() -> bool:
    """Return on every rank whether rank zero has read `step`."""
    line = sys.stdin.readline() if hvd.rank() == 0 else ""
    return bool(hvd.broadcast(tf.constant(line == "step\n"), root_rank=0, name="line"))


def _print(line: str) -> None:
    if hvd.rank() == 0:
        print(line, flush=True)


main(sys.argv[1])
