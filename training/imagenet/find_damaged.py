"""The search for the damaged record of a batch: tf.data reports the error, but not the record."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from training.imagenet import record_checks
from training.records.numbered_records import Records
from training.records.tfrecords import DamagedRecordError

Decode = Callable[[tf.Tensor, tf.Tensor], object]
"""Decodes a JPEG (string) as the pipeline does, by the number of its record (int64)."""


def find_damaged(
    records: Records, numbers: Sequence[int], decode: Decode, classes: int
) -> dict[int, DamagedRecordError]:
    """Process each record alone, as the pipeline does; return the damaged ones' numbers and errors.

    Raises:
        UserError: The operating system cannot read a file, or the labels count from 0: no damage of a record.
    """
    found = {}
    for number in dict.fromkeys(int(number) for number in numbers):
        try:
            _make(records, number, decode, classes)
        except DamagedRecordError as error:
            found[number] = error
    return found


def _make(records: Records, number: int, decode: Decode, classes: int) -> None:
    (content,) = records.read([number])
    # On the CPU, as in the pipeline.
    with tf.device("/CPU:0"):
        try:
            jpegs, labels = records.parse(tf.constant([content]), tf.constant([number], tf.int64))
        # UnicodeDecodeError: TensorFlow puts the bytes that it could not parse into its message.
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError) as error:
            raise records.damaged_record(number, "is not a tf.train.Example with an image and its label") from error
        jpeg, label = jpegs.numpy()[0], int(labels[0])
        record_checks.check(records, number, jpeg, label, classes)
        try:
            decode(jpegs[0], tf.constant(number, tf.int64))
        except tf.errors.InvalidArgumentError as error:
            raise record_checks.undecodable(records, number, jpeg) from error
