"""The batches of a rank: images of one padded shape with their objects, on the device in time.

Resizing, mirroring and padding are done to bytes on the CPU; the network's input becomes floating point on the device.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.coco.coco_example import CROWD
from training.coco.coco_records import MAX_OBJECTS, CocoRecords
from training.coco.object_masks import MASK_SIZE, PACKED
from training.coco.padded_shapes import PaddedShapes
from training.records.epoch_order import Order
from training.records.pipeline import Pipeline
from training.records.stages import Columns, Pass, Work
from training.records.undamaged_batches import UndamagedBatches

# The first cell is the highest bit of its byte.
_SHIFTS = np.arange(7, -1, -1, dtype=np.uint8)


class Batch(NamedTuple):
    """A step's images and their objects, on the device if one is given."""

    images: tf.Tensor
    """uint8 (batch x height x width x 3): resized, mirrored, and 0 at the right and at the bottom."""
    sizes: tf.Tensor
    """Height and width inside the padding, int32 (batch x 2)."""
    boxes: tf.Tensor
    """y1, x1, y2, x2 of the objects in pixels of the resized image, float32 (batch x `MAX_OBJECTS` x 4)."""
    labels: tf.Tensor
    """1 to the number of categories, 0 for no object, -1 for a crowd region, int32 (batch x `MAX_OBJECTS`)."""
    masks: tf.Tensor
    """1 inside the object, uint8 (batch x `MAX_OBJECTS` x `MASK_SIZE` x `MASK_SIZE`); a cell is a part of the box."""
    keys: tf.Tensor
    """Record number, and a hash of seed and epoch, for random choices of the network, int32 (batch x 2)."""
    ids: tf.Tensor
    """COCO's ids of the images, int64 (batch)."""
    originals: tf.Tensor
    """Height and width of the original images, int32 (batch x 2)."""
    weights: tf.Tensor
    """float32 (batch): 0 for an image that only fills the batch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings that all epochs share."""

    shapes: PaddedShapes
    """Sizes of the images."""
    classes: int
    """The largest label."""
    threads: int
    """Threads that decode."""
    seed: int = 0
    """Seed of the mirrored images, and of the keys."""
    mirror: bool = True
    """Whether half of the training images are mirrored."""
    device: str | None = None
    """Device of the batches, such as "/GPU:0". Default: the machine's memory."""
    skip_damaged: bool = False
    """Whether another record replaces a damaged one. Default: a damaged record ends the run."""


class BatchPipeline(Pipeline):
    """Reads and decodes the batches of a split, and copies them to the device."""

    def __init__(self, records: CocoRecords, settings: Settings) -> None:
        super().__init__(len(records), seed=settings.seed, mirror=settings.mirror)
        self._records, self._settings = records, settings
        self.buckets: NDArray[Any] = settings.shapes.buckets(records.image_sizes)
        """The bucket of each record."""
        self.shapes = settings.shapes.shapes
        """Height and width of each bucket's batches."""
        self._undamaged = UndamagedBatches(
            threads=settings.threads, device=settings.device, skip_damaged=settings.skip_damaged
        )
        self.skipped_records = self._undamaged.skipped_records

    def batches(self, order: Order, flips: NDArray[np.bool_], key: int | None, start_step: int) -> Iterator[Batch]:
        """Yield batches of one bucket each; another record of the bucket replaces a skipped one."""

        def check(number: int) -> None:
            if reason := _damage(self._records, number, self._settings.classes):
                raise self._records.damaged_record(number, reason)

        # The key has 63 bits; int32 has 31 without the sign.
        work = self._work(flips, (key or 0) % 2**31)
        todo = Pass(numbers=order.numbers, weights=order.weights, work=work)
        replaced = int(key is not None)
        return self._undamaged.batches(
            todo, check, start_step=start_step, weight_of_replaced=replaced, buckets=self.buckets
        )

    def _work(self, flips: NDArray[np.bool_], key: int) -> Work:
        records, classes = self._records, self._settings.classes
        listed = records.image_sizes.astype(np.int32)
        resized = self._settings.shapes.resized(listed)
        padded = np.array(self._settings.shapes.shapes, np.int32)[self.buckets]

        def read(numbers: Sequence[int]) -> Columns:
            contents = np.array(records.read(numbers), np.object_)
            return contents, listed[numbers], resized[numbers], padded[numbers], flips[numbers]

        def make(*values: tf.Tensor) -> Batch:
            return _element(Element(*values), key, classes)

        def parse(contents: tf.Tensor, *values: tf.Tensor) -> tuple[tf.Tensor, ...]:
            *known, numbers = values
            return *records.parse(contents, numbers), *known

        size = tf.TensorSpec([None, 2], tf.int32)
        columns = (tf.TensorSpec([None], tf.string), size, size, size, tf.TensorSpec([None], tf.bool))
        return Work(read=read, columns=columns, parse=parse, make=make)


def _damage(records: CocoRecords, number: int, classes: int) -> str | None:
    """Process a record alone, as the pipeline does, and return how it is damaged.

    Raises:
        UserError: The operating system cannot read the file, which is not a damaged record.
    """
    (content,) = records.read([number])
    # On the CPU, as in the pipeline.
    with tf.device("/CPU:0"):
        try:
            jpeg, _, size, _, _, labels, _ = (
                each[0] for each in records.parse(tf.constant([content]), tf.constant([number], tf.int64))
            )
        # UnicodeDecodeError: TensorFlow puts the bytes that it could not parse into its message.
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError):
            return "is not a tf.train.Example with an image and its objects"
        height, width = size.numpy().tolist()
        if not height or not width:
            return "has no size, or boxes, labels and masks of different numbers of objects; convert COCO again"
        outside = [label for label in labels.numpy().tolist() if not CROWD <= label <= classes]
        if outside:
            return f"has the label {outside[0]}, but labels are 1 to {classes}"
        try:
            shape = tf.io.decode_jpeg(jpeg, channels=3).shape[:2].as_list()
        except tf.errors.InvalidArgumentError:
            return f"has {len(jpeg.numpy()):,} bytes that should be a JPEG image, but does not decode"
    listed = records.image_sizes[number].tolist()
    if not shape == [height, width] == listed:
        return f"has an image of {shape} pixels, but the size {[height, width]}, and {listed} in the file beside it"
    return None


class Element(NamedTuple):
    """The parts of an element of a batch: the values of `CocoRecords.parse`, and those that are known without it."""

    jpeg: tf.Tensor
    image_id: tf.Tensor
    size: tf.Tensor
    """In the record."""
    objects: tf.Tensor
    boxes: tf.Tensor
    labels: tf.Tensor
    masks: tf.Tensor
    listed_size: tf.Tensor
    """Beside the shard: buckets are made of it."""
    resized: tf.Tensor
    """Height and width."""
    padded: tf.Tensor
    """Height and width."""
    mirrored: tf.Tensor
    number: tf.Tensor
    weight: tf.Tensor


def _element(given: Element, key: int, classes: int) -> Batch:
    image = tf.io.decode_jpeg(given.jpeg, channels=3)
    shape = tf.shape(image)[:2]
    checks = [
        tf.debugging.Assert(tf.reduce_all((shape == given.size) & (shape == given.listed_size)), [shape]),
        tf.debugging.Assert(tf.reduce_all((given.labels >= -1) & (given.labels <= classes)), [given.labels]),
    ]
    with tf.control_dependencies(checks):
        pixels = _padded(_resized(image, given.resized, given.mirrored), given.padded)
    return Batch(
        images=pixels,
        sizes=given.resized,
        boxes=_moved(given.boxes, shape, given.resized, given.mirrored),
        labels=given.labels,
        masks=_unpacked(given.masks, given.objects, given.mirrored),
        keys=tf.stack([tf.cast(given.number, tf.int32), key]),
        ids=given.image_id,
        originals=given.size,
        weights=given.weight,
    )


def _resized(image: tf.Tensor, size: tf.Tensor, is_mirrored: tf.Tensor) -> tf.Tensor:
    """Resize an image, round to the nearest byte, and mirror it."""
    # Mirrored before: it has fewer pixels then.
    image = tf.cond(is_mirrored, lambda: tf.reverse(image, [1]), lambda: image)
    resized = tf.raw_ops.ResizeBilinear(images=image[tf.newaxis], size=size, half_pixel_centers=True)
    # A cast truncates; with the half it rounds. The sum stays below 256: bilinear values are between the pixels'.
    return tf.cast(resized[0] + 0.5, tf.uint8)


def _padded(image: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Add zeros at the right and at the bottom."""
    missing = shape - tf.shape(image)[:2]
    padded = tf.pad(image, [[0, missing[0]], [0, missing[1]], [0, 0]])
    return tf.ensure_shape(padded, [None, None, 3])


def _moved(boxes: tf.Tensor, original: tf.Tensor, size: tf.Tensor, is_mirrored: tf.Tensor) -> tf.Tensor:
    """Move boxes with their image; those of no object stay 0."""
    scales = tf.tile(tf.cast(size, tf.float32) / tf.cast(original, tf.float32), [2])
    y1, x1, y2, x2 = tf.unstack(boxes * scales, axis=1)
    width = tf.cast(size[1], tf.float32)
    flipped = tf.stack([y1, width - x2, y2, width - x1], axis=1)
    is_object = (y2 > y1)[:, tf.newaxis]
    return tf.where(is_mirrored & is_object, flipped, tf.stack([y1, x1, y2, x2], axis=1))


def _unpacked(masks: tf.Tensor, objects: tf.Tensor, is_mirrored: tf.Tensor) -> tf.Tensor:
    """Return a byte for each cell of the masks, mirrored; those of no object are 0."""
    packed = tf.io.decode_raw(tf.strings.substr(masks, 0, objects * PACKED), tf.uint8)
    bits = tf.bitwise.right_shift(packed[:, tf.newaxis], _SHIFTS) & 1
    cells = tf.reshape(bits, [objects, MASK_SIZE, MASK_SIZE])
    cells = tf.cond(is_mirrored, lambda: tf.reverse(cells, [2]), lambda: cells)
    return tf.ensure_shape(
        tf.pad(cells, [[0, MAX_OBJECTS - objects], [0, 0], [0, 0]]), [MAX_OBJECTS, MASK_SIZE, MASK_SIZE]
    )
