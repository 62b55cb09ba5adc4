import errno
import os
import pickle
from pathlib import Path

import pytest
import tensorflow as tf

from tests.training.imagenet_data import framed
from training.records import tfrecords
from training.records.tfrecords import DamagedRecordError, Shard
from training.runtime.errors import LostFileSystemError, UserError

DATA = [b"first", b"", b"the third"]
# 16 bytes of framing each.
BOUNDS = [0, 21, 37, 62]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "train-00000-of-00001"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for data in DATA:
            writer.write(data)
    return path


@pytest.fixture
def index(path: Path) -> Path:
    index = path.with_name("train-00000-of-00001.idx")
    index.write_text("0 21\n21 16\n37 25\n")
    return index


def read_all(shard: Shard) -> list[bytes]:
    with shard.path.open("rb") as stream:
        return [tfrecords.read(stream.fileno(), shard, record) for record in range(len(shard))]


def test_the_writer_of_the_tests_equals_tensorflow_s(path: Path) -> None:
    assert path.read_bytes() == b"".join(map(framed, DATA))


def test_reads_the_lengths_without_an_index(path: Path) -> None:
    shard = tfrecords.load(path, path.with_suffix(".idx"))
    assert (shard.bounds.tolist(), shard.damaged, shard.damage) == (BOUNDS, 0, None)
    assert read_all(shard) == DATA


def test_does_not_read_the_file_with_a_valid_index(path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pread", None)
    assert tfrecords.load(path, index).bounds.tolist() == BOUNDS


@pytest.mark.parametrize(
    "content",
    ["0 21\n21 16\n", "0 21\n21 16\n37 24\n", "0 62\n9 9\n", "0 21\n22 15\n37 25\n", "a b\n", "0\n", "0 -9\n", ""],
)
def test_ignores_an_index_that_does_not_fit(path: Path, index: Path, content: str) -> None:
    index.write_text(content)
    shard = tfrecords.load(path, index)
    assert (shard.bounds.tolist(), shard.damage) == (BOUNDS, None)


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    shard = tfrecords.load(tmp_path / "empty", tmp_path / "empty.idx")
    assert (len(shard), shard.damage) == (0, None)


@pytest.mark.parametrize("with_index", [False, True])
@pytest.mark.parametrize(
    ("size", "whole", "damaged", "reason"),
    [
        (61, 2, 1, "record 2 at byte 37 is cut off: the file ends in the middle of it, at byte 61;"),
        (40, 2, 1, "record 2 at byte 37 is cut off: the file ends in the middle of it, at byte 40;"),
        (20, 0, 3, "record 0 at byte 0 is cut off: the file ends in the middle of it, at byte 20;"),
    ],
)
def test_reports_the_record_in_which_a_file_ends(
    path: Path, index: Path, with_index: bool, size: int, whole: int, damaged: int, reason: str
) -> None:
    os.truncate(path, size)
    if not with_index:
        index.unlink()
        damaged = 1
    shard = tfrecords.load(path, index)
    assert (len(shard), shard.damaged) == (whole, damaged)
    assert f"{path}: {reason}" in str(shard.damage)
    assert read_all(shard) == DATA[:whole]


def test_finds_a_cut_between_two_records_by_the_index(path: Path, index: Path) -> None:
    os.truncate(path, 21)
    shard = tfrecords.load(path, index)
    assert (len(shard), shard.damaged) == (1, 2)
    assert str(shard.damage) == (
        f"{path}: record 1 at byte 21 is missing: the file ends there, and its index lists 2 more; "
        "copy or convert the file again, or give '--on-bad-data skip' to skip it"
    )


def test_a_damaged_length_ends_the_scan(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[22] ^= 1
    path.write_bytes(content)
    shard = tfrecords.load(path, path.with_suffix(".idx"))
    assert (len(shard), shard.damaged) == (1, 1)
    assert "record 1 at byte 21 has a damaged length, and nothing after it can be found;" in str(shard.damage)


@pytest.mark.parametrize(
    ("byte", "reason"),
    [
        (37, "has a damaged length"),
        (46, "has a damaged length"),
        (50, "does not match its checksum"),
        (61, "does not match its checksum"),
    ],
)
def test_finds_a_damaged_byte_when_the_record_is_read(path: Path, index: Path, byte: int, reason: str) -> None:
    content = bytearray(path.read_bytes())
    content[byte] ^= 0x10
    path.write_bytes(content)
    shard = tfrecords.load(path, index)
    with path.open("rb") as stream:
        assert tfrecords.read(stream.fileno(), shard, 0) == b"first"
        with pytest.raises(DamagedRecordError) as caught:
            tfrecords.read(stream.fileno(), shard, 2)
    assert str(caught.value) == (
        f"{path}: record 2 at byte 37 {reason}; copy or convert the file again, or give '--on-bad-data skip' to skip it"
    )


def test_finds_a_file_that_is_truncated_later(path: Path, index: Path) -> None:
    shard = tfrecords.load(path, index)
    os.truncate(path, 60)
    with pytest.raises(DamagedRecordError, match="record 2 at byte 37 is cut off: the file ends in the middle of it;"):
        read_all(shard)


def test_reports_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing cannot be read \(No such file or directory\); check that it exists"):
        tfrecords.load(tmp_path / "missing", tmp_path / "missing.idx")


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ESHUTDOWN, errno.ETIMEDOUT, errno.ENOTCONN])
def test_a_file_system_that_was_lost_is_no_error_of_the_user(path: Path, number: int) -> None:
    with pytest.raises(LostFileSystemError, match=r"records cannot be read \(.*\): its file system was lost, .* start"):
        with tfrecords.readable(Path("records")):
            raise OSError(number, os.strerror(number))


def test_the_error_can_be_pickled() -> None:
    error = DamagedRecordError("a: record 1", "is damaged")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
