"""Which anchors and proposals learn, and from which object: matched by overlap, then drawn at random.

The numbers are those of Detectron2's `mask_rcnn_R_50_FPN`. The draws follow from an image's key, and not from the
rank, the batch or the time.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from training.mask_rcnn import boxes as box

_ANCHOR_IS_OBJECT, _ANCHOR_IS_BACKGROUND = 0.7, 0.3
_REGION_IS_OBJECT = 0.5
_OBJECTS_OF_ANCHORS, _OBJECTS_OF_REGIONS = 0.5, 0.25

# The part of a box inside a crowd region from which on it is not background; Detectron's TRAIN.CROWD_FILTER_THRESH.
_IN_CROWD = 0.7

# Streams of random numbers.
_ANCHORS, _REGIONS = 0, 1


class Samples(NamedTuple):
    """The boxes that learn: those of objects first, then background, then places that nothing fills.

    Attributes:
        indices: Indices of the candidates, int32 [B, S].
        objects: Objects of the truth, int32 [B, S]; any where `positive` is false.
        positive: Whether it is an object, bool [B, S].
        used: Whether it counts, bool [B, S].
    """

    indices: tf.Tensor
    objects: tf.Tensor
    positive: tf.Tensor
    used: tf.Tensor


class Truth(NamedTuple):
    """The objects of images.

    Attributes:
        boxes: float32 [B, N, 4].
        labels: int32 [B, N]: 1 and more for an object, 0 for none, -1 for a crowd region.
    """

    boxes: tf.Tensor
    labels: tf.Tensor


def sample_anchors(anchors: tf.Tensor, inside: tf.Tensor, truth: Truth, keys: tf.Tensor, count: int) -> Samples:
    """Draw the anchors that learn.

    Args:
        anchors: [A, 4].
        inside: The anchors that may be drawn, bool [B, A].
        truth: The objects.
        keys: Keys of the images, int32 [B, 2].
        count: Samples of an image.
    """

    def of_image(own: tuple[tf.Tensor, ...]) -> Samples:
        allowed, boxes, labels, key = own
        overlaps, crowded = _overlaps(anchors, boxes, labels)
        overlaps = tf.where(allowed[:, tf.newaxis], overlaps, -1.0)
        best = tf.reduce_max(overlaps, 1)
        best_of_object = tf.reduce_max(overlaps, 0)
        # An object that no anchor fits takes the anchors that are nearest. Not `==`: XLA may calculate both sides by
        # separate kernels, which round differently.
        nearest = (overlaps >= best_of_object * (1 - 1e-5)) & (best_of_object > 0)
        positive = allowed & ((best >= _ANCHOR_IS_OBJECT) | tf.reduce_any(nearest, 1))
        negative = allowed & (best < _ANCHOR_IS_BACKGROUND) & ~positive & ~crowded
        return _draw(
            positive, negative, tf.argmax(overlaps, 1, tf.int32), key, _ANCHORS, count, int(count * _OBJECTS_OF_ANCHORS)
        )

    return _for_each_image(of_image, (inside, *truth, keys))


def sample_regions(regions: tf.Tensor, valid: tf.Tensor, truth: Truth, keys: tf.Tensor, count: int) -> Samples:
    """Draw the proposals that learn.

    Args:
        regions: Proposals, with the objects themselves, [B, P, 4].
        valid: Which exist, bool [B, P].
        truth: The objects.
        keys: Keys of the images, int32 [B, 2].
        count: Samples of an image; the first quarter of the places can be objects.
    """

    def of_image(own: tuple[tf.Tensor, ...]) -> Samples:
        candidates, exists, boxes, labels, key = own
        overlaps, crowded = _overlaps(candidates, boxes, labels)
        best = tf.reduce_max(overlaps, 1)
        positive = exists & (best >= _REGION_IS_OBJECT)
        negative = exists & (best < _REGION_IS_OBJECT) & ~crowded
        return _draw(positive, negative, tf.argmax(overlaps, 1, tf.int32), key, _REGIONS, count, most_objects(count))

    return _for_each_image(of_image, (regions, valid, *truth, keys))


def most_objects(count: int) -> int:
    """Return how many of an image's sampled proposals can be objects."""
    return int(count * _OBJECTS_OF_REGIONS)


def _overlaps(candidates: tf.Tensor, boxes: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the overlap with each object, -1 for rows without one, and which candidates are inside a crowd region."""
    overlaps = tf.where(labels > 0, box.overlaps(candidates, boxes), -1.0)
    part = tf.math.divide_no_nan(box.intersections(candidates, boxes), box.areas(candidates)[:, tf.newaxis])
    return overlaps, tf.reduce_any((part >= _IN_CROWD) & (labels < 0), 1)


def _draw(
    positive: tf.Tensor, negative: tf.Tensor, objects: tf.Tensor, key: tf.Tensor, stream: int, count: int, most: int
) -> Samples:
    """Draw up to `most` positive candidates, and fill `count` places with negative ones."""
    missing = max(count - int(positive.shape[0]), 0)
    positive, negative, objects = (tf.pad(each, [[0, missing]]) for each in (positive, negative, objects))
    random = _random(key, stream, positive.shape[0])
    first = tf.math.top_k(tf.where(positive, random, -1.0), most)
    second = tf.math.top_k(tf.where(negative, random, -1.0), count)
    # 2 is above all random numbers: those of objects come first.
    ranks = tf.concat([tf.where(first.values >= 0, 2.0, -1.0), second.values], 0)
    chosen = tf.math.top_k(ranks, count)
    indices = tf.gather(tf.concat([first.indices, second.indices], 0), chosen.indices)
    return Samples(indices, tf.gather(objects, indices), chosen.values > 1, chosen.values >= 0)


def _random(key: tf.Tensor, stream: int, count: int) -> tf.Tensor:
    """Return numbers from 0 to 1 by an image's key; XLA has others than TensorFlow's kernels for the same key."""
    seed = tf.random.experimental.stateless_fold_in(key, stream, alg="philox")
    return tf.random.stateless_uniform([count], seed, alg="philox")


def _for_each_image(of_image: Callable[[tuple[tf.Tensor, ...]], Samples], tensors: tuple[tf.Tensor, ...]) -> Samples:
    # One image after the other: the overlaps of 270,000 anchors with 100 objects are 107 MB.
    types = Samples(tf.int32, tf.int32, tf.bool, tf.bool)
    samples = tf.map_fn(of_image, tensors, fn_output_signature=types)
    return Samples(*(tf.stop_gradient(each) for each in samples))
