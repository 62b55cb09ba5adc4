import os
import pickle
from pathlib import Path

import pytest
import tensorflow as tf

from tests.training.imagenet_data import framed
from training.records import tfrecords
from training.records.tfrecords import DamagedRecordError, Shard
from training.runtime.errors import UserError

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


def test_our_writer_of_tests_writes_what_tensorflow_writes(path: Path) -> None:
    assert path.read_bytes() == b"".join(map(framed, DATA))


def test_without_an_index_the_framing_is_walked(path: Path) -> None:
    shard = tfrecords.load(path, path.with_suffix(".idx"))
    assert (shard.bounds.tolist(), shard.lost, shard.fault) == (BOUNDS, 0, None)
    assert read_all(shard) == DATA


def test_with_a_fitting_index_the_file_is_not_read(path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pread", None)
    assert tfrecords.load(path, index).bounds.tolist() == BOUNDS


@pytest.mark.parametrize(
    "content",
    ["0 21\n21 16\n", "0 21\n21 16\n37 24\n", "0 62\n9 9\n", "0 21\n22 15\n37 25\n", "a b\n", "0\n", "0 -9\n", ""],
)
def test_an_index_that_does_not_fit_is_not_believed(path: Path, index: Path, content: str) -> None:
    index.write_text(content)
    shard = tfrecords.load(path, index)
    assert (shard.bounds.tolist(), shard.fault) == (BOUNDS, None)


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    shard = tfrecords.load(tmp_path / "empty", tmp_path / "empty.idx")
    assert (len(shard), shard.fault) == (0, None)


@pytest.mark.parametrize("with_index", [False, True])
@pytest.mark.parametrize(
    ("size", "whole", "lost", "reason"),
    [
        (61, 2, 1, "record 2 at byte 37 is cut off: the file ends in the middle of it, at byte 61;"),
        (40, 2, 1, "record 2 at byte 37 is cut off: the file ends in the middle of it, at byte 40;"),
        (20, 0, 3, "record 0 at byte 0 is cut off: the file ends in the middle of it, at byte 20;"),
    ],
)
def test_a_truncated_file_names_the_record(
    path: Path, index: Path, with_index: bool, size: int, whole: int, lost: int, reason: str
) -> None:
    os.truncate(path, size)
    if not with_index:
        index.unlink()
        lost = 1
    shard = tfrecords.load(path, index)
    assert (len(shard), shard.lost) == (whole, lost)
    assert f"{path}: {reason}" in str(shard.fault)
    assert read_all(shard) == DATA[:whole]


def test_a_file_cut_between_two_records_is_told_by_its_index(path: Path, index: Path) -> None:
    os.truncate(path, 21)
    shard = tfrecords.load(path, index)
    assert (len(shard), shard.lost) == (1, 2)
    assert str(shard.fault) == (
        f"{path}: record 1 at byte 21 is missing: the file ends there, and its index lists 2 more; "
        "copy or convert the file again, or give '--on-bad-data skip' to go on without it"
    )


def test_a_damaged_length_ends_the_walk(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[22] ^= 1
    path.write_bytes(content)
    shard = tfrecords.load(path, path.with_suffix(".idx"))
    assert (len(shard), shard.lost) == (1, 1)
    assert "record 1 at byte 21 has a damaged length, and nothing after it can be found;" in str(shard.fault)


@pytest.mark.parametrize(
    ("byte", "reason"),
    [
        (37, "has a damaged length"),
        (46, "has a damaged length"),
        (50, "does not match its checksum"),
        (61, "does not match its checksum"),
    ],
)
def test_a_damaged_byte_is_found_when_the_record_is_read(path: Path, index: Path, byte: int, reason: str) -> None:
    content = bytearray(path.read_bytes())
    content[byte] ^= 0x10
    path.write_bytes(content)
    shard = tfrecords.load(path, index)
    with path.open("rb") as stream:
        assert tfrecords.read(stream.fileno(), shard, 0) == b"first"
        with pytest.raises(DamagedRecordError) as caught:
            tfrecords.read(stream.fileno(), shard, 2)
    assert str(caught.value) == (
        f"{path}: record 2 at byte 37 {reason}; "
        "copy or convert the file again, or give '--on-bad-data skip' to go on without it"
    )


def test_a_file_that_shrinks_later_is_found_too(path: Path, index: Path) -> None:
    shard = tfrecords.load(path, index)
    os.truncate(path, 60)
    with pytest.raises(DamagedRecordError, match="record 2 at byte 37 is cut off: the file ends in the middle of it;"):
        read_all(shard)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing cannot be read \(No such file or directory\); check that it exists"):
        tfrecords.load(tmp_path / "missing", tmp_path / "missing.idx")


def test_the_error_travels_between_ranks() -> None:
    error = DamagedRecordError("a: record 1", "is bad")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
