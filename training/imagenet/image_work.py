"""The work on each image: its bytes from a record, its part, and its place in a batch."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.imagenet import image_decoding
from training.imagenet.decoded_images import DecodedImages
from training.imagenet.image_decoding import Window
from training.records.numbered_records import Records
from training.records.stages import Columns, Released, Work

WindowOf = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Turns the shape of an image and its record's number (int64) into the part to use."""

_STRINGS = tf.TensorSpec([None], tf.string)
_FLAGS = tf.TensorSpec([None], tf.bool)


class Batch(NamedTuple):
    """A step's images, on the device if one is given."""

    images: tf.Tensor
    """uint8 (batch x size x size x 3), for `image_decoding.to_float`."""
    labels: tf.Tensor
    """int32 (batch), from 0."""
    flips: tf.Tensor
    """Whether to mirror, bool (batch)."""
    weights: tf.Tensor
    """float32 (batch): 0 for an image that only fills the batch."""


class EncodedBatch(NamedTuple):
    """A step's images before they are decoded, in the machine's memory."""

    jpegs: tf.Tensor
    """Strings (batch)."""
    windows: tf.Tensor
    """The part of each image: top, left, height and width, int32 (batch x 4)."""
    labels: tf.Tensor
    """As in `Batch`, and so are the next two."""
    flips: tf.Tensor
    weights: tf.Tensor


def encoded(
    records: Records, window_of: WindowOf, flips: NDArray[np.bool_], *, size: int, classes: int, decode: bool = True
) -> Work:
    """Return the work that decodes each image's part anew.

    Args:
        records: Records of the split.
        window_of: Chooses the part.
        flips: Whether to mirror, for every record of the split.
        size: Height and width of the result, pixels.
        classes: The largest label.
        decode: Whether to decode here. Otherwise the elements are those of `EncodedBatch`, for the GPU.
    """

    def read(numbers: Sequence[int]) -> Columns:
        return np.array(records.read(numbers), np.object_), flips[numbers]

    def parse(contents: tf.Tensor, mirrored: tf.Tensor, numbers: tf.Tensor) -> tuple[tf.Tensor, ...]:
        jpegs, labels = records.parse(contents, numbers)
        return jpegs, from_zero(labels, classes), mirrored

    def make(
        jpeg: tf.Tensor, label: tf.Tensor, mirrored: tf.Tensor, number: tf.Tensor, weight: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        if not decode:
            return EncodedBatch(jpeg, window_of(tf.io.extract_jpeg_shape(jpeg), number), label, mirrored, weight)
        return Batch(image_decoding.decode(jpeg, _at(window_of, number), size), label, mirrored, weight)

    return Work(read=read, columns=(_STRINGS, _FLAGS), parse=parse, make=make)


def decoded(images: DecodedImages, window_of: WindowOf, flips: NDArray[np.bool_], *, size: int, classes: int) -> Work:
    """Return the work that decodes each image once, and keeps it.

    An image's first pass crops the same pixels as the later ones: batches do not depend on the images in memory.

    Args:
        images: Images of the split.
        window_of: Chooses the part.
        flips: Whether to mirror, for every record of the split.
        size: Height and width of the result, pixels.
        classes: The largest label.
    """
    keep = Released(images.keep)

    def read(numbers: Sequence[int]) -> Columns:
        return *images.read(numbers), flips[numbers]

    def parse(
        contents: tf.Tensor, pixels: tf.Tensor, shapes: tf.Tensor, mirrored: tf.Tensor, numbers: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        jpegs, labels = images.records.parse(contents, numbers)
        # The record of an image in memory is not read.
        kept = shapes[:, 0] > 0
        labels = from_zero(tf.where(kept, tf.cast(shapes[:, 4], tf.int64), labels), classes)
        return kept, jpegs, pixels, shapes, labels, mirrored

    def make(
        kept: tf.Tensor,
        jpeg: tf.Tensor,
        pixels: tf.Tensor,
        shape: tf.Tensor,
        label: tf.Tensor,
        mirrored: tf.Tensor,
        number: tf.Tensor,
        weight: tf.Tensor,
    ) -> tuple[tf.Tensor, ...]:
        image, original = tf.cond(
            kept, lambda: _from_memory(pixels, shape), lambda: _from_jpeg(jpeg, keep, number, label)
        )
        return Batch(image_decoding.crop(image, original, _at(window_of, number), size), label, mirrored, weight)

    columns = (_STRINGS, _STRINGS, tf.TensorSpec([None, 5], tf.int32), _FLAGS)
    return Work(read=read, columns=columns, parse=parse, make=make, release=keep.release)


def _from_memory(pixels: tf.Tensor, shape: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return a kept image, and the original's height and width."""
    return tf.reshape(tf.io.decode_raw(pixels, tf.uint8), tf.concat([shape[2:4], [3]], 0)), shape[:2]


def _from_jpeg(jpeg: tf.Tensor, keep: Released, number: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Decode and keep an image, and return it with the original's height and width."""
    image, original = image_decoding.decode_smaller(jpeg)
    # Not stateful: see `stages`. TensorFlow runs it nevertheless, because its result is used.
    original = tf.numpy_function(keep, [number, image, original, label + 1], tf.int32, stateful=False)
    return image, tf.ensure_shape(original, [2])


def from_zero(labels: tf.Tensor, classes: int) -> tf.Tensor:
    """Return labels from 0, int32; the operation fails for those outside 1 to the number of classes."""
    check = tf.debugging.Assert(tf.reduce_all((labels >= 1) & (labels <= classes)), [labels])
    with tf.control_dependencies([check]):
        return tf.cast(labels - 1, tf.int32)


def _at(window_of: WindowOf, number: tf.Tensor) -> Window:
    return lambda shape: window_of(shape, number)
