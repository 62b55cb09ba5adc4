"""The records of COCO's shards, with the size of each image."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.coco import coco_example, image_sizes
from training.coco.object_masks import PACKED
from training.records import shard_records
from training.records.image_features import ENCODED, HEIGHT, WIDTH
from training.records.shard_records import ShardRecords
from training.records.tfrecords import Shard
from training.runtime.distributed import share
from training.runtime.errors import UserError

#: Objects of an image that a network sees, at most: COCO's images have up to 93, and the large ones are first.
MAX_OBJECTS = 100

# A missing feature gets an invalid value, so that the record is found and reported.
_FEATURES = {
    ENCODED: tf.io.FixedLenFeature([], tf.string, default_value=b""),
    coco_example.ID: tf.io.FixedLenFeature([], tf.int64, default_value=-1),
    HEIGHT: tf.io.FixedLenFeature([], tf.int64, default_value=0),
    WIDTH: tf.io.FixedLenFeature([], tf.int64, default_value=0),
    coco_example.BOXES: tf.io.RaggedFeature(tf.float32),
    coco_example.LABELS: tf.io.RaggedFeature(tf.int64),
    coco_example.MASKS: tf.io.FixedLenFeature([], tf.string, default_value=b""),
}


class CocoRecords(ShardRecords):
    """The records of all shards; `parse` returns image, id, size, number of objects, boxes, labels and masks."""

    def __init__(
        self, shards: Sequence[Shard], missing: Sequence[str] = (), *, sizes: Sequence[NDArray[Any]] = ()
    ) -> None:
        super().__init__(shards, missing)
        found = [np.zeros((0, 2), np.int64), *sizes]
        self.image_sizes: NDArray[Any] = np.concatenate(found)
        """Height and width of each record's image, pixels (records x 2)."""

    def parse(self, contents: tf.Tensor, numbers: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Return the features of the Examples: JPEG, COCO's id, size, objects, boxes, labels and packed masks.

        Boxes (`MAX_OBJECTS` x 4), labels and masks of objects beyond the last are 0, or cut off.
        """
        features = tf.io.parse_example(contents, _FEATURES)
        boxes, labels = features[coco_example.BOXES], features[coco_example.LABELS]
        rows = tf.shape(contents)[0]
        sizes = tf.stack([features[HEIGHT], features[WIDTH]], axis=1)
        counts = labels.row_lengths()
        # A record whose objects are damaged gets a size that no image has, and is found and reported.
        masks = tf.strings.length(features[coco_example.MASKS])
        valid = (boxes.row_lengths() == 4 * counts) & (masks == PACKED * counts)
        return (
            features[ENCODED],
            features[coco_example.ID],
            tf.cast(tf.where(valid[:, tf.newaxis], sizes, 0), tf.int32),
            tf.minimum(counts, MAX_OBJECTS),
            tf.reshape(boxes.to_tensor(shape=[None, MAX_OBJECTS * 4]), [rows, MAX_OBJECTS, 4]),
            tf.cast(labels.to_tensor(shape=[None, MAX_OBJECTS]), tf.int32),
            features[coco_example.MASKS],
        )


def load(folder: Path, split: str, *, skip_damaged: bool) -> CocoRecords:
    """Find the shards of a split, their records, and the sizes of the images.

    Raises:
        UserError: A shard is missing or damaged and `skip_damaged` is false, or sizes are missing; on every rank.
    """
    found = shard_records.load(folder, split, skip_damaged=skip_damaged)
    sizes = share(_sizes, found.shards)
    return CocoRecords(found.shards, found.missing, sizes=sizes)


def _sizes(shard: Shard) -> NDArray[Any]:
    """Return height and width of each image of a shard."""
    sizes = image_sizes.read(shard.path)
    # A damaged shard has lost records at its end.
    if sizes is None or len(sizes) < len(shard) or (shard.damage is None and len(sizes) > len(shard)):
        lines = "no valid lines" if sizes is None else f"{len(sizes):,} lines"
        raise UserError(
            f"{image_sizes.path_of(shard.path)} has {lines}, but the shard has {len(shard):,} records; copy it again, "
            "or convert COCO again: python -m training.coco.convert --help"
        )
    return sizes[: len(shard), 1:]
