"""Run a training program with a network that compiles in a second, disturbed as `disturbances` says.

FAULTS_PROGRAM=resnet50 which program: resnet50 or mask_rcnn
"""

import dataclasses
import os
import sys
from unittest import mock

import tensorflow as tf

from tests.faults.disturbances import disturb, leave_out_pictures
from training.imagenet.input_pipeline import InputPipeline
from training.mask_rcnn import __main__ as mask_rcnn
from training.mask_rcnn import drawings
from training.mask_rcnn.architecture import ARCHITECTURES, SMALL, Boxes
from training.resnet50 import __main__ as resnet50
from training.resnet50 import model
from training.runtime import horovod_ranks, watchdog
from training.runtime.distributed import run

_PROGRAMS = {"resnet50": resnet50.main, "mask_rcnn": mask_rcnn.main}

# As few operations as there can be: a start takes seconds to trace them.
_TINY_MASK_RCNN = dataclasses.replace(
    SMALL,
    width=4,
    channels=8,
    box_width=16,
    mask_channels=8,
    mask_convolutions=1,
    anchor_samples=32,
    region_samples=16,
    training_boxes=Boxes(before=60, after=40),
    detection_boxes=Boxes(before=60, after=40),
)


def small_network(image_size: int, classes: int) -> tf.keras.Model:
    # Without blocks: a checkpoint has 27 KB, half of them the first convolution.
    return model.network(image_size, classes, (), 12)


def main(*, forked: bool = False) -> int:
    """Train as the program does, and return its exit code."""
    if forked:
        leave_out_pictures()
        mock.patch.object(drawings, "draw").start()
    # The passes over the graph take longer than all steps, and the faults are not about them.
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    model.build = small_network
    ARCHITECTURES["small"] = _TINY_MASK_RCNN
    disturb(InputPipeline)
    watchdog.limit()
    horovod_ranks.init()
    return run(_PROGRAMS[os.environ["FAULTS_PROGRAM"]])


if __name__ == "__main__":
    sys.exit(main())
