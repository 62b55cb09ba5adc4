"""Finds the record that made a batch fail: tf.data tells what went wrong, but not of which image."""

from collections.abc import Sequence

import tensorflow as tf

from training.records.example import ENCODED, LABEL
from training.records.numbered_records import Records
from training.records.stages import MakeImage
from training.records.tfrecords import DamagedRecordError

_PNG = b"\x89PNG"


def find_damaged(
    records: Records, numbers: Sequence[int], make_image: MakeImage, classes: int
) -> dict[int, DamagedRecordError]:
    """Does for each record by itself what the pipeline did for all, and returns the bad ones' numbers and errors.

    Raises:
        UserError: The operating system does not let a file be read, which is no record's fault.
    """
    faults = {}
    for number in dict.fromkeys(int(number) for number in numbers):
        try:
            _make(records, number, make_image, classes)
        except DamagedRecordError as error:
            faults[number] = error
    return faults


def _make(records: Records, number: int, make_image: MakeImage, classes: int) -> None:
    (content,) = records.read([number])
    # On the CPU, where the pipeline does it too.
    with tf.device("/CPU:0"):
        try:
            jpegs, labels = records.parse(tf.constant([content]), tf.constant([number], tf.int64))
        # UnicodeDecodeError: TensorFlow puts the bytes that it could not parse into its message.
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError) as error:
            raise records.bad(number, "is not a tf.train.Example with an image and its label") from error
        jpeg, label = jpegs.numpy()[0], int(labels[0])
        if reason := _reason(jpeg, label, classes):
            raise records.bad(number, reason)
        try:
            make_image(jpegs[0], tf.constant(number, tf.int64))
        except tf.errors.InvalidArgumentError as error:
            kind = "is a PNG image" if jpeg.startswith(_PNG) else "does not decode"
            raise records.bad(number, f"holds {len(jpeg):,} bytes that should be a JPEG image, but {kind}") from error


def _reason(jpeg: bytes, label: int, classes: int) -> str | None:
    if not jpeg:
        return f"has no {ENCODED}, the bytes of a JPEG image"
    if label == -1:
        return f"has no {LABEL}, the number of a class"
    if not 1 <= label <= classes:
        return f"has the label {label}, but labels are 1 to {classes} with '--classes' {classes}"
    return None
