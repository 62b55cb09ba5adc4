"""Boxes: how far they overlap, and the way from one to another that the network learns.

A box is y1, x1, y2, x2 in pixels of the network's image, continuous: pixel 0 alone is from 0 to 1.
"""

import math

import tensorflow as tf

#: Factors of the box head: its outputs are this many times the differences of centre and size, so that they have a
#: deviation of about 1. Detectron's values; the AWS variant of Mask R-CNN has 20, 20, 10, 10.
REGION_WEIGHTS = (10.0, 10.0, 5.0, 5.0)

#: Factors of the region proposal network.
ANCHOR_WEIGHTS = (1.0, 1.0, 1.0, 1.0)

# The most that a box grows: an anchor of 16 pixels to one of 1,000, Detectron's value. Without a limit the exponential
# of a network that has learned nothing is infinite.
_LOG_GROWTH = math.log(1000 / 16)


def areas(boxes: tf.Tensor) -> tf.Tensor:
    """Return the areas, [..., 4] to [...]; 0 for a box whose end is before its beginning."""
    extents = tf.maximum(boxes[..., 2:] - boxes[..., :2], 0.0)
    return extents[..., 0] * extents[..., 1]


def intersections(boxes: tf.Tensor, others: tf.Tensor) -> tf.Tensor:
    """Return the common area of each pair, [..., A, 4] and [..., B, 4] to [..., A, B]."""
    boxes, others = boxes[..., :, tf.newaxis, :], others[..., tf.newaxis, :, :]
    sides = [
        tf.maximum(
            tf.minimum(boxes[..., axis + 2], others[..., axis + 2]) - tf.maximum(boxes[..., axis], others[..., axis]),
            0.0,
        )
        for axis in (0, 1)
    ]
    return sides[0] * sides[1]


def overlaps(boxes: tf.Tensor, others: tf.Tensor) -> tf.Tensor:
    """Return the intersection over union of each pair, [..., A, 4] and [..., B, 4] to [..., A, B]; 0 for empty ones."""
    common = intersections(boxes, others)
    union = areas(boxes)[..., :, tf.newaxis] + areas(others)[..., tf.newaxis, :] - common
    return tf.math.divide_no_nan(common, union)


def encode(boxes: tf.Tensor, origins: tf.Tensor, weights: tuple[float, ...]) -> tf.Tensor:
    """Return the outputs that lead from the origins to the boxes: y, x, log height, log width.

    Args:
        boxes: [..., 4].
        origins: Anchors or proposals, [..., 4]; the outputs of an empty one or of an empty box are finite.
        weights: REGION_WEIGHTS or ANCHOR_WEIGHTS.
    """
    centres, extents = _centred(boxes)
    own_centres, own_extents = _centred(origins)
    # Rows without an object are empty; they are calculated like the others, and not counted.
    extents, own_extents = tf.maximum(extents, 1e-3), tf.maximum(own_extents, 1e-3)
    return tf.concat([(centres - own_centres) / own_extents, tf.math.log(extents / own_extents)], -1) * weights


def decode(deltas: tf.Tensor, origins: tf.Tensor, weights: tuple[float, ...]) -> tf.Tensor:
    """Return the boxes of predictions, [..., 4] and [..., 4] to [..., 4]; the inverse of `encode`."""
    deltas = deltas / tf.constant(weights)
    centres, extents = _centred(origins)
    centres = centres + deltas[..., :2] * extents
    half = extents * tf.exp(tf.minimum(deltas[..., 2:], _LOG_GROWTH)) / 2
    return tf.concat([centres - half, centres + half], -1)


def clip(boxes: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
    """Return the part of each box inside its image.

    Args:
        boxes: [B, N, 4].
        sizes: Height and width of each image without its padding, int32 [B, 2].
    """
    limits = tf.tile(tf.cast(sizes, tf.float32), [1, 2])[:, tf.newaxis]
    return tf.clip_by_value(boxes, 0.0, limits)


def _centred(boxes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    extents = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + extents / 2, extents
