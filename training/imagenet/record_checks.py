"""The damage of an image of a record, in words that every framework shares."""

from training.records.image_features import ENCODED, LABEL
from training.records.numbered_records import Records
from training.records.tfrecords import DamagedRecordError
from training.runtime.errors import UserError

_PNG = b"\x89PNG"


def check(records: Records, number: int, jpeg: bytes, label: int, classes: int) -> None:
    """Reject an image without bytes, or with a label that the network does not have.

    Raises:
        DamagedRecordError: It is this record's damage.
        UserError: The labels of the data set count from 0.
    """
    if label == 0:
        # No damage of one record: the dataset's labels count from 0, and skipping would leave out a whole class.
        raise UserError(
            f"{records.where(number)} has the label 0, but labels are 1 to {classes} with '--classes' {classes}; "
            "convert the dataset again, with labels that count from 1"
        )
    if reason := _reason(jpeg, label, classes):
        raise records.damaged_record(number, reason)


def undecodable(records: Records, number: int, jpeg: bytes) -> DamagedRecordError:
    """Return the error of bytes that no decoder of JPEG images takes."""
    kind = "is a PNG image" if jpeg.startswith(_PNG) else "does not decode"
    return records.damaged_record(number, f"has {len(jpeg):,} bytes that should be a JPEG image, but {kind}")


def _reason(jpeg: bytes, label: int, classes: int) -> str | None:
    if not jpeg:
        return f"has no {ENCODED}, the bytes of a JPEG image"
    if label == -1:
        return f"has no {LABEL}, the number of a class"
    if not 1 <= label <= classes:
        return f"has the label {label}, but labels are 1 to {classes} with '--classes' {classes}"
    return None
