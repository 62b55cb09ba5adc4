"""One image as a tf.train.Example, with the features of TensorFlow's own ImageNet scripts."""

from typing import TYPE_CHECKING

from training.records.image_features import ENCODED, HEIGHT, LABEL, WIDTH

if TYPE_CHECKING:
    import tensorflow as tf

SYNSET = "image/class/synset"
FILENAME = "image/filename"
FORMAT = "image/format"
COLORSPACE = "image/colorspace"
CHANNELS = "image/channels"


def encode(*, jpeg: bytes, label: int, synset: str, filename: str, height: int, width: int) -> bytes:
    """Return an image as a serialized example, always with the same bytes.

    Args:
        jpeg: The image, not decoded.
        label: The place of the synset in the sorted synsets, from 1: 0 is a background class, which no image has.
        synset: The class's name, such as n01440764.
        filename: Without folders.
        height: Pixels.
        width: Pixels.
    """
    # Here, so that modules that only need the names do not import TensorFlow.
    import tensorflow as tf

    def texts(value: bytes) -> tf.train.Feature:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    def numbers(value: int) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    features = {
        ENCODED: texts(jpeg),
        LABEL: numbers(label),
        SYNSET: texts(synset.encode()),
        FILENAME: texts(filename.encode()),
        HEIGHT: numbers(height),
        WIDTH: numbers(width),
        FORMAT: texts(b"JPEG"),
        COLORSPACE: texts(b"RGB"),
        CHANNELS: numbers(3),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    # By default, Protocol Buffers order a map's entries differently in each process.
    return bytes(example.SerializeToString(deterministic=True))


def labels(examples: "tf.Tensor") -> list[int]:
    """Return the labels of a batch of serialized examples."""
    import tensorflow as tf

    features = {LABEL: tf.io.FixedLenFeature([], tf.int64)}
    found: list[int] = tf.io.parse_example(examples, features)[LABEL].numpy().tolist()
    return found
