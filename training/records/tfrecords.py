"""One TFRecord file: where its records lie, and their content with its checksums verified.

A record is a length (8 bytes), the length's masked CRC-32C (4), the data, and the data's masked CRC-32C (4), all
little-endian: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from awscrt.checksums import crc32c

from training.runtime.errors import UserError

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
#: Bytes that a record has besides its content.
FRAMING = _HEADER.size + _FOOTER.size


class DamagedRecordError(UserError):
    """A record, or the rest of a file, that cannot be used; another record may take its place."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"{where} {reason}; copy or convert the file again, or give '--on-bad-data skip' to go on without it"
        )
        self.where, self.reason = where, reason

    def __reduce__(self) -> tuple[type["DamagedRecordError"], tuple[str, str]]:
        # It travels between ranks; an exception is rebuilt from its message alone otherwise.
        return DamagedRecordError, (self.where, self.reason)


@dataclass(frozen=True, slots=True)
class Shard:
    """A file and its records, which follow one another without a gap."""

    path: Path
    bounds: np.ndarray
    """Bytes: the offset of each record, then the end of the last one."""
    lost: int = 0
    """Records known to be missing at the end."""
    fault: DamagedRecordError | None = None
    """What is wrong with the file; None where it is whole."""

    def __len__(self) -> int:
        return len(self.bounds) - 1


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns a refusal of the operating system into a sentence with the file's name."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); check that it exists, that user {os.getuid()} may read it, "
            "and that its file system is mounted"
        ) from error


def where(path: Path, record: int, offset: int) -> str:
    """Names a record: its number, counted from 0 as everywhere here, and its offset in bytes."""
    return f"{path}: record {record} at byte {offset}"


def load(path: Path, index: Path) -> Shard:
    """Finds the records of a file: from its index if that fits the file, by walking over the framing otherwise.

    The end of the last record is compared with the file's size; so an index costs no read of the file itself, and one
    that was left behind by another file is not believed. What it says beyond that is verified when a record is read.
    """
    with readable(path):
        size = path.stat().st_size
        listed = _listed(index)
        if listed is not None and listed[-1] == size:
            return Shard(path, listed)
        bounds, reason = _scan(path, size)
    offsets = bounds[:-1]
    lost = int(reason is not None)
    if listed is not None and len(listed) > len(bounds) and np.array_equal(listed[: len(bounds)], bounds):
        lost = len(listed) - len(bounds)
        reason = reason or f"is missing: the file ends there, and its index lists {lost} more"
    fault = DamagedRecordError(where(path, len(offsets), int(bounds[-1])), reason) if reason else None
    return Shard(path, bounds, lost, fault)


def read(descriptor: int, shard: Shard, record: int) -> bytes:
    """Reads the data of one record.

    Raises:
        DamagedRecordError: The record is cut off, or differs from its checksums.
    """
    offset, end = shard.bounds[record : record + 2].tolist()
    # Three calls and not one: a content without its framing is a copy of 100 KB, which takes longer than the calls.
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


def _listed(index: Path) -> np.ndarray | None:
    """Reads an index, a line "offset size" a record; None where there is none, or none that can be true."""
    try:
        table = np.array(index.read_bytes().split(), np.int64).reshape(-1, 2)
    except (FileNotFoundError, ValueError, OverflowError):
        return None
    bounds = np.append(0, table.sum(axis=1))
    return bounds if np.array_equal(bounds[:-1], table[:, 0]) and (table[:, 1] >= FRAMING).all() else None


def _scan(path: Path, size: int) -> tuple[np.ndarray, str | None]:
    """Walks from length to length and reads nothing else; returns the bounds, and what ended the walk too early."""
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
    """Returns the length of a record's data; None where it differs from its checksum."""
    length, checksum = _HEADER.unpack(header)
    return length if checksum == _masked(header[:8]) else None


def _masked(data: bytes) -> int:
    """A CRC of data that holds CRCs is weak, so the format rotates it and adds a constant."""
    checksum = crc32c(data)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
