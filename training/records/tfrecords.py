"""One TFRecord file: the offsets of its records, and their content with verified checksums.

A record is a length (8 bytes), the length's masked CRC-32C (4), the data, and the data's masked CRC-32C (4), all
little-endian: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from awscrt.checksums import crc32c
from numpy.typing import NDArray

from ..runtime.errors import LOST_FILE_SYSTEM, LostFileSystemError, UserError

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
#: Bytes of a record in addition to its content.
FRAMING = _HEADER.size + _FOOTER.size


class DamagedRecordError(UserError):
    """A damaged record, or the damaged rest of a file; another record can take its place."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where} {reason}; copy or convert the file again, or give '--on-bad-data skip' to skip it")
        self.where, self.reason = where, reason

    def __reduce__(self) -> tuple[type["DamagedRecordError"], tuple[str, str]]:
        # Ranks send it to each other. By default, pickle calls the class with the message only.
        return DamagedRecordError, (self.where, self.reason)


@dataclass(frozen=True, slots=True)
class Shard:
    """A file and its records, which have no gaps."""

    path: Path
    bounds: NDArray[Any]
    """Bytes: the offset of each record, and the end of the last one."""
    damaged: int = 0
    """The known number of damaged records at the end."""
    damage: DamagedRecordError | None = None
    """The damage of the file; None if it has none."""

    def __len__(self) -> int:
        return len(self.bounds) - 1


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into a message with the file's name."""
    try:
        yield
    except OSError as error:
        if error.errno in LOST_FILE_SYSTEM:
            raise LostFileSystemError(
                f"{path} cannot be read ({error.strerror}): its file system was lost, or its disk is damaged; "
                "start this run again"
            ) from error
        raise UserError(
            f"{path} cannot be read ({error.strerror}); check that it exists, that user {os.getuid()} may read it, "
            "and that its file system is mounted"
        ) from error


def where(path: Path, record: int, offset: int) -> str:
    """Describe a record: its number, from 0, and its offset in bytes."""
    return f"{path}: record {record} at byte {offset}"


def load(path: Path, index: Path) -> Shard:
    """Find the records of a file: from its index if that fits the file, otherwise from the records' lengths.

    The end of the last record must be the file's size, so that the index of another file is ignored without a read of
    the file. The rest of the index is verified when a record is read.
    """
    with readable(path):
        size = path.stat().st_size
        listed = listed_bounds(index)
        if listed is not None and listed[-1] == size:
            return Shard(path, listed)
        bounds, reason = _scan(path, size)
    offsets = bounds[:-1]
    damaged = int(reason is not None)
    if listed is not None and len(listed) > len(bounds) and np.array_equal(listed[: len(bounds)], bounds):
        damaged = len(listed) - len(bounds)
        reason = reason or f"is missing: the file ends there, and its index lists {damaged} more"
    damage = DamagedRecordError(where(path, len(offsets), int(bounds[-1])), reason) if reason else None
    return Shard(path, bounds, damaged, damage)


def read(descriptor: int, shard: Shard, record: int) -> bytes:
    """Return the data of one record.

    Raises:
        DamagedRecordError: The record is cut off, or differs from its checksums.
    """
    offset, end = shard.bounds[record : record + 2].tolist()
    # Three calls: to cut the framing from one buffer would copy 100 KB, which takes longer than the calls.
    header = os.pread(descriptor, _HEADER.size, offset)
    data = os.pread(descriptor, end - offset - FRAMING, offset + _HEADER.size)
    footer = os.pread(descriptor, _FOOTER.size, end - _FOOTER.size)
    if len(header) + len(data) + len(footer) < end - offset:
        reason = "is cut off: the file ends in the middle of it"
    elif _length(header) != len(data):
        reason = "has a damaged length"
    elif _FOOTER.unpack(footer)[0] != _masked(data):
        reason = "does not match its checksum"
    else:
        return data
    raise DamagedRecordError(where(shard.path, record, offset), reason)


def listed_bounds(index: Path) -> NDArray[Any] | None:
    """Return the bounds of an index, which has a line "offset size" a record; None without a valid one."""
    try:
        table = np.array(index.read_bytes().split(), np.int64).reshape(-1, 2)
    except (FileNotFoundError, ValueError, OverflowError):
        return None
    bounds = np.append(0, table.sum(axis=1))
    return bounds if np.array_equal(bounds[:-1], table[:, 0]) and (table[:, 1] >= FRAMING).all() else None


def _scan(path: Path, size: int) -> tuple[NDArray[Any], str | None]:
    """Read only the lengths of all records; return the bounds, and the damage that ended the scan."""
    bounds, reason = [0], None
    with path.open("rb") as stream:
        while bounds[-1] < size:
            header = os.pread(stream.fileno(), _HEADER.size, bounds[-1])
            length = _length(header) if len(header) == _HEADER.size else size
            if length is None:
                reason = "has a damaged length, and nothing after it can be found"
                break
            if bounds[-1] + length + FRAMING > size:
                reason = f"is cut off: the file ends in the middle of it, at byte {size}"
                break
            bounds.append(bounds[-1] + length + FRAMING)
    return np.array(bounds, np.int64), reason


def _length(header: bytes) -> int | None:
    """Return the length of a record's data; None if it differs from its checksum."""
    length: int
    length, checksum = _HEADER.unpack(header)
    return length if checksum == _masked(header[:8]) else None


def _masked(data: bytes) -> int:
    """Mask a CRC: a CRC of data that contains CRCs is weak, so the format rotates it and adds a constant."""
    checksum = int(crc32c(data))
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
