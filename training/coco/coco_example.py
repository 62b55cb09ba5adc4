"""One image of COCO with its objects as a tf.train.Example."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from training.records.image_features import ENCODED, HEIGHT, WIDTH

if TYPE_CHECKING:
    import tensorflow as tf

ID = "image/id"
"""COCO's id of the image."""
BOXES = "object/boxes"
"""y1, x1, y2, x2 of each object in pixels, continuous coordinates: a box of pixel 0 alone is 0, 0, 1, 1."""
LABELS = "object/labels"
"""1 to the number of categories; `CROWD` for a crowd region."""
AREAS = "object/areas"
"""Pixels, as in the annotations."""
MASKS = "object/masks"
"""The packed masks of all objects in one string, as `object_masks.packed` makes them; 0 for a crowd region."""

CROWD = -1
"""The label of a crowd region: a network neither finds it nor calls it background."""


@dataclass(frozen=True, slots=True)
class RecordedObject:
    """An object in a record."""

    box: tuple[float, float, float, float]
    label: int
    area: float
    mask: bytes


def encode(*, jpeg: bytes, image_id: int, height: int, width: int, objects: Sequence[RecordedObject]) -> bytes:
    """Return an image and its objects as a serialized example, always with the same bytes.

    Args:
        jpeg: The image, not decoded.
        image_id: COCO's.
        height: Pixels.
        width: Pixels.
        objects: May be empty.
    """
    # Here, so that modules that only need the names do not import TensorFlow.
    import tensorflow as tf

    def text(value: bytes) -> tf.train.Feature:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    def integers(*values: int) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def floats(*values: float) -> tf.train.Feature:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    features = {
        ENCODED: text(jpeg),
        ID: integers(image_id),
        HEIGHT: integers(height),
        WIDTH: integers(width),
        BOXES: floats(*(value for each in objects for value in each.box)),
        LABELS: integers(*(each.label for each in objects)),
        AREAS: floats(*(each.area for each in objects)),
        MASKS: text(b"".join(each.mask for each in objects)),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    # By default, Protocol Buffers order a map's entries differently in each process.
    return bytes(example.SerializeToString(deterministic=True))


def labels(examples: "tf.Tensor") -> list[int]:
    """Return the labels of all objects of a batch of serialized examples, without crowd regions."""
    import tensorflow as tf

    found = tf.io.parse_example(examples, {LABELS: tf.io.VarLenFeature(tf.int64)})[LABELS].values
    return [label for label in found.numpy().tolist() if label != CROWD]
