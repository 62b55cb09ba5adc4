"""A tiny network, and batches of one bright rectangle or disc for each object."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.coco.batches import Batch
from training.mask_rcnn.architecture import SMALL, Boxes

SIDE, OBJECTS, CELLS = 64, 100, 112

TINY = dataclasses.replace(
    SMALL,
    classes=3,
    width=4,
    channels=8,
    box_width=16,
    mask_channels=8,
    mask_convolutions=1,
    anchor_sizes=(8, 16, 32, 48, 64),
    pooling_size=56,
    anchor_samples=32,
    region_samples=16,
    training_boxes=Boxes(before=60, after=40),
    detection_boxes=Boxes(before=60, after=40),
)

#: Each image's losses do not depend on the others of the batch.
TINY_FROZEN_NORMALIZATION = dataclasses.replace(TINY, frozen_normalization=True)


def made_batch(labels: list[list[int]], seed: int = 0, size: tuple[int, int] = (SIDE, SIDE - 4)) -> Batch:
    """Return an image for each list: a random box for each label, 1 to 3, or -1 for a crowd region."""
    random = np.random.default_rng(seed)
    made = [_image(own, random, size) for own in labels]
    images, boxes, padded, masks = (np.stack(each) for each in zip(*made, strict=True))
    sizes = np.tile(np.array(size, np.int32), [len(labels), 1])
    keys = random.integers(2**31, size=(len(labels), 2)).astype(np.int32)
    others = (np.arange(len(labels)), sizes, np.ones(len(labels), np.float32))
    return Batch(*(tf.constant(each) for each in (images, sizes, boxes, padded, masks, keys, *others)))


def part(batch: Batch, begin: int, end: int) -> Batch:
    """Return some of the images."""
    return Batch(*(each[begin:end] for each in batch))


def _image(labels: list[int], random: np.random.Generator, size: tuple[int, int]) -> tuple[NDArray[Any], ...]:
    image = random.integers(40, size=(SIDE, SIDE, 3)).astype(np.uint8)
    boxes, padded = np.zeros((OBJECTS, 4), np.float32), np.zeros(OBJECTS, np.int32)
    masks = np.zeros((OBJECTS, CELLS, CELLS), np.uint8)
    y, x = np.mgrid[:CELLS, :CELLS] / CELLS - 0.5
    for place, label in enumerate(labels):
        height, width = random.integers(8, 32, 2)
        top, left = random.integers(size[0] - height + 1), random.integers(size[1] - width + 1)
        boxes[place], padded[place] = (top, left, top + height, left + width), label
        masks[place] = (y**2 + x**2 < 0.25) | (label != 2) if label > 0 else 0
        image[top : top + height, left : left + width, max(label - 1, 0)] = 255
    image[size[0] :], image[:, size[1] :] = 0, 0
    return image, boxes, padded, masks
