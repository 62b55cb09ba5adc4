"""The search for the damaged record of a batch: tf.data reports the error, but not the record."""

from collections.abc import Sequence

import tensorflow as tf

from training.coco.coco_example import CROWD
from training.coco.coco_records import CocoRecords
from training.records.tfrecords import DamagedRecordError


def find(records: CocoRecords, numbers: Sequence[int], classes: int) -> dict[int, DamagedRecordError]:
    """Process each record alone, as the pipeline does; return the damaged ones' numbers and errors.

    Raises:
        UserError: The operating system cannot read a file, which is not a damaged record.
    """
    found = {}
    for number in dict.fromkeys(int(number) for number in numbers):
        try:
            if reason := _reason(records, number, classes):
                raise records.damaged_record(number, reason)
        except DamagedRecordError as error:
            found[number] = error
    return found


def _reason(records: CocoRecords, number: int, classes: int) -> str | None:
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
