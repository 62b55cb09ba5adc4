"""One rank of `make bench-scaling`: times ResNet-50's own training step, and prints what it took as JSON.

python -m benchmarks.scaling_rank TIMELINE
"""

import json
import sys
import time

import horovod.tensorflow as hvd
import tensorflow as tf

from training.imagenet import epoch_order
from training.imagenet.input_pipeline import Settings, SyntheticPipeline
from training.resnet50 import model, schedule
from training.resnet50.train_step import StepOptions, make_network, make_train_step

IMAGE_SIZE, BATCH, WARM_UP, STEPS = 128, 32, 2, 5


def main(timeline: str) -> None:
    """Trains some steps; rank 0 prints the seconds of each and the share of the time that was spent adding up."""
    hvd.init()
    # Bound to a core by mpirun: one thread, or two would share it.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    network = make_network(model.build(IMAGE_SIZE, 1000), schedule.MOMENTUM["sgd"])
    hvd.broadcast_variables([*network.variables, *network.statistics], root_rank=0)
    options = StepOptions(
        classes=1000,
        label_smoothing=0.1,
        weight_decay=1 / 32768,
        lars=False,
        compression=hvd.Compression.none,
        groups=0,
    )
    step = make_train_step(network, options)
    order = epoch_order.training(10**6, (), batch_size=BATCH, rank=hvd.rank(), size=hvd.size(), seed=0, epoch=0)
    batches = SyntheticPipeline(Settings(image_size=IMAGE_SIZE, classes=1000, threads=1)).training(order, 0)
    seconds = []
    for number in range(WARM_UP + STEPS):
        if number == WARM_UP:
            hvd.start_timeline(timeline)
        images, labels, flips, _ = next(batches)
        started = time.perf_counter()
        loss, _ = step(images, labels, flips)
        float(loss)
        seconds.append(time.perf_counter() - started)
    hvd.stop_timeline()
    if hvd.rank() == 0:
        print(json.dumps(seconds[WARM_UP:]), flush=True)
    hvd.allreduce(tf.constant(0.0), name="end")


main(sys.argv[1])
