"""A rank's images in memory, decoded: from the second epoch, the CPU only crops and resizes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.imagenet.image_decoding import SHORT_SIDE, smaller_shape
from training.records.numbered_records import Records
from training.records.stages import Columns
from training.records.tfrecords import DamagedRecordError

# Images whose headers are read for the estimate: about 28 MB of ImageNet.
_SAMPLE = 256
# Standard errors that the estimate adds to the mean.
_ERRORS = 4


class DecodedImages:
    """Keeps the images of a range, at a short side of at most 256 pixels, after their first use."""

    def __init__(self, records: Records, kept: range) -> None:
        self.records, self._range = records, kept
        self._pixels: dict[int, bytes] = {}
        # Height and width of the original, those of the kept image, and the label; 0 where none is kept.
        self._shapes = np.zeros((len(kept), 5), np.int32)

    def read(self, numbers: Sequence[int]) -> Columns:
        """Return, for each record, its content, or else the kept image's pixels and shape; the others are empty."""
        pixels = [self._pixels.get(number, b"") for number in numbers]
        missing = [number for number, kept in zip(numbers, pixels, strict=True) if not kept]
        contents = dict(zip(missing, self.records.read(missing), strict=True))
        shapes = np.zeros((len(numbers), 5), np.int32)
        for row, (number, kept) in enumerate(zip(numbers, pixels, strict=True)):
            if kept:
                shapes[row] = self._shapes[number - self._range.start]
        return (
            np.array([contents.get(number, b"") for number in numbers], np.object_),
            np.array(pixels, np.object_),
            shapes,
        )

    def keep(
        self, number: np.int64, pixels: NDArray[np.uint8], original: NDArray[np.int32], label: np.int32
    ) -> NDArray[np.int32]:
        """Keep an image if its record is in the range, and return the original's height and width."""
        record = int(number)
        if record in self._range:
            self._shapes[record - self._range.start] = (*original, *pixels.shape[:2], label)
            # Last: another thread may read it from now on.
            self._pixels[record] = pixels.tobytes()
        return original


class Estimate(NamedTuple):
    """The memory that a range's images will take."""

    needed: int
    """Bytes."""
    reduced: bool
    """Whether the short side of one of the sample is longer than that of a kept image."""


def estimate(records: Records, kept: range) -> Estimate:
    """Estimate the bytes of a range's images in memory from the headers of some.

    With four standard errors of the sample's mean, so that the images of a rank do not need more.
    """
    places = np.unique(np.linspace(0, len(kept) - 1, min(_SAMPLE, len(kept))).astype(np.int64))
    found = [size for place in places.tolist() if (size := _size(records, kept[place]))]
    if not found:
        return Estimate(0, reduced=False)
    sizes = [size for size, _ in found]
    error = np.std(sizes) / np.sqrt(len(sizes)) if len(sizes) < len(kept) else 0
    return Estimate(int(len(kept) * (np.mean(sizes) + _ERRORS * error)), reduced=any(reduced for _, reduced in found))


def _size(records: Records, number: int) -> tuple[int, bool] | None:
    """Return an image's bytes in memory and whether it is reduced; None if its record is damaged: reported in use."""
    try:
        (content,) = records.read([number])
        with tf.device("/CPU:0"):
            jpegs, _ = records.parse(tf.constant([content]), tf.constant([number], tf.int64))
            original = tf.io.extract_jpeg_shape(jpegs[0])[:2]
            height, width = (int(side) for side in smaller_shape(original))
    except (DamagedRecordError, tf.errors.InvalidArgumentError, UnicodeDecodeError):
        return None
    return height * width * 3, bool(min(original.numpy()) > SHORT_SIDE)


CAVEAT = (
    f"crops come from images whose short side was reduced to {SHORT_SIDE} pixels; the accuracy with them was not "
    "measured, and small crops have fewer details"
)
"""The change of the result by `--cache decoded`."""
