"""Anchors: the boxes from which the region proposal network predicts objects, the same for all images of a shape."""

import functools

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.mask_rcnn.architecture import Architecture

#: Pixels of the image for each place of P2 to P6.
STRIDES = (4, 8, 16, 32, 64)


def anchors(architecture: Architecture, height: int, width: int) -> list[NDArray[np.float32]]:
    """Return the anchors of P2 to P6, each [places x ratios, 4], in the order of the network's outputs.

    Args:
        architecture: Its `anchor_sizes` and `anchor_ratios`.
        height: Height of the padded images, pixels.
        width: Width of the padded images, pixels.
    """
    return [
        _of_level(size, architecture.anchor_ratios, stride, -(-height // stride), -(-width // stride))
        for size, stride in zip(architecture.anchor_sizes, STRIDES, strict=True)
    ]


def inside(boxes: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
    """Return which anchors have their centre in the image and not in its padding, [A, 4] and [B, 2] to bool [B, A].

    The others neither learn nor propose, so that an image's losses do not depend on how many places its padding has.
    """
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    return tf.reduce_all(centres < tf.cast(sizes, tf.float32)[:, tf.newaxis], -1)


# Each shape of images is traced more than once: in training, in evaluations.
@functools.lru_cache(maxsize=64)
def _of_level(size: int, ratios: tuple[float, ...], stride: int, rows: int, columns: int) -> NDArray[np.float32]:
    y, x = np.meshgrid((np.arange(rows) + 0.5) * stride, (np.arange(columns) + 0.5) * stride, indexing="ij")
    centres = np.stack([y, x], -1)[:, :, np.newaxis]
    root = np.sqrt(np.array(ratios))
    halves = np.stack([size * root, size / root], -1) / 2
    boxes: NDArray[np.float32] = np.concatenate([centres - halves, centres + halves], -1).reshape(-1, 4)
    boxes = boxes.astype(np.float32)
    boxes.flags.writeable = False
    return boxes
