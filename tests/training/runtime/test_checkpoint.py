import errno
import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from training.runtime import checkpoint, files
from training.runtime.errors import LostFileSystemError, UserError


def write(folder: Path, epoch: int, keep: int = 3) -> Path:
    arrays: list[NDArray[Any]] = [np.full((2, 3), epoch, np.float32), np.array(epoch, np.int64)]
    return checkpoint.save(folder, checkpoint.Checkpoint(step=epoch, arrays=arrays, metadata={"seed": 7}), keep=keep)


def test_reads_what_was_written(tmp_path: Path) -> None:
    write(tmp_path, 4)
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert (found.step, found.metadata) == (4, {"seed": 7})
    assert found.arrays[0].tolist() == [[4, 4, 4], [4, 4, 4]]
    assert [array.dtype for array in found.arrays] == [np.float32, np.int64]


def test_an_empty_folder_has_no_checkpoint(tmp_path: Path) -> None:
    assert checkpoint.newest(tmp_path / "missing") is None


def test_keeps_the_order_of_more_than_ten_arrays(tmp_path: Path) -> None:
    arrays = [np.array(number) for number in range(12)]
    path = checkpoint.save(tmp_path, checkpoint.Checkpoint(step=1, arrays=arrays, metadata={}))
    assert [int(array) for array in checkpoint.read(path).arrays] == list(range(12))


def test_keeps_the_newest(tmp_path: Path) -> None:
    for epoch in (8, 9, 10, 11):
        write(tmp_path, epoch, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "latest",
        "step-00000010.checkpoint",
        "step-00000011.checkpoint",
    ]


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: b"", lambda content: flip(content)])
def test_a_damaged_newest_checkpoint_falls_back_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[bytes], bytes]
) -> None:
    write(tmp_path, 1)
    newest = write(tmp_path, 2)
    newest.write_bytes(damage(newest.read_bytes()))
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 1
    assert capsys.readouterr().err == (
        f"warning: {newest} is damaged: its content does not match its checksum; trying the checkpoint before it\n"
    )


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def test_a_stop_while_writing_keeps_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 1)
    monkeypatch.setattr(Path, "replace", lambda self, target: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, 2)
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 1


def test_removes_old_checkpoints_only_after_the_new_one_was_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1)
    lose_a_byte(monkeypatch)
    with pytest.raises(checkpoint.DamagedError):
        write(tmp_path, 2, keep=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-00000001.checkpoint"]


def test_replaces_a_checkpoint_of_the_same_step_only_by_an_undamaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1)
    lose_a_byte(monkeypatch)
    with pytest.raises(checkpoint.DamagedError):
        write(tmp_path, 1)
    assert checkpoint.read(tmp_path / "step-00000001.checkpoint").step == 1


def lose_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = files.write_atomically
    monkeypatch.setattr(checkpoint, "write_atomically", lambda path, content, check: whole(path, content[:-1], check))


def test_a_checkpoint_that_another_program_compressed_is_rejected(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.savez_compressed(stream, np.zeros(2**20), metadata=np.array('{"step": 1}'))
    path = tmp_path / "step-00000001.checkpoint"
    path.write_bytes(hashlib.sha256(stream.getvalue()).hexdigest().encode() + b"\n" + stream.getvalue())
    with pytest.raises(checkpoint.DamagedError, match="it is compressed"):
        checkpoint.read(path)


def test_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "step-00000002.checkpoint")
    with pytest.raises(checkpoint.DamagedError, match=r"step-00000002\.checkpoint is not a regular file"):
        checkpoint.read(tmp_path / "step-00000002.checkpoint")


def test_latest_names_the_newest(tmp_path: Path) -> None:
    for step in (1, 2):
        write(tmp_path, step)
    assert (tmp_path / "latest").read_text() == "step-00000002.checkpoint\n"


def test_a_run_that_trains_there_may_remove_all_checkpoints_that_were_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = [write(tmp_path, step) for step in (1, 2)]
    read = checkpoint.read

    def read_late(path: Path) -> checkpoint.Checkpoint:
        if listed:
            write(tmp_path, 3, keep=1)
            assert not any(path.exists() for path in listed)
            listed.clear()
        return read(path)

    monkeypatch.setattr(checkpoint, "read", read_late)
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 3
    assert capsys.readouterr().err == ""


def test_a_folder_named_as_a_partial_file_does_not_keep_a_run_from_saving(tmp_path: Path) -> None:
    (tmp_path / ".step-x.partial").mkdir()
    (tmp_path / ".step-y.partial").write_bytes(b"half")
    write(tmp_path, 1)
    names = [".step-x.partial", "latest", "step-00000001.checkpoint"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_earlier_checkpoints_stay_while_the_new_one_may_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, 1)
    sync = files.sync

    def fail_on_folder(path: Path) -> None:
        if path.is_dir():
            raise OSError(errno.EIO, "Input/output error")
        sync(path)

    monkeypatch.setattr(files, "sync", fail_on_folder)
    path = write(tmp_path, 2, keep=1)
    assert [checkpoint.step_of(each) for each in checkpoint.paths(tmp_path)] == [2, 1]
    warning = capsys.readouterr().err.splitlines()[0]
    assert warning == (
        f"warning: {path} is written, but its folder could not be synchronized to the disk (Input/output error); it "
        "is lost if the machine stops now"
    )


def test_removes_the_partial_file_of_a_killed_run(tmp_path: Path) -> None:
    (tmp_path / ".step-00000001.checkpoint.partial").write_bytes(b"half")
    write(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-00000002.checkpoint"]


def test_rejects_a_folder_of_damaged_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (1, 2):
        write(tmp_path, step).write_bytes(b"damaged")
    with pytest.raises(UserError, match=f"all 2 checkpoints in {tmp_path} are damaged; copy one back"):
        checkpoint.newest(tmp_path)


def test_an_unreadable_newest_checkpoint_falls_back_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, 1)
    # A link to itself: root may read every file.
    (tmp_path / "step-00000002.checkpoint").symlink_to("step-00000002.checkpoint")
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 1
    assert (
        "step-00000002.checkpoint cannot be read (Too many levels of symbolic links); trying" in capsys.readouterr().err
    )


def test_checkpoints_of_a_lost_file_system_are_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = write(tmp_path, 1), write(tmp_path, 2)
    read, lost = Path.read_bytes, {second}

    def fail(path: Path) -> bytes:
        if path in lost:
            raise OSError(errno.ESTALE, "Stale file handle")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", fail)
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 1
    lost.add(first)
    with pytest.raises(LostFileSystemError, match=f"none of the checkpoints in {tmp_path} can be read; start this run"):
        checkpoint.newest(tmp_path)


def test_a_new_checkpoint_is_kept_before_damaged_later_ones(tmp_path: Path) -> None:
    for epoch in (10, 11, 12):
        write(tmp_path, epoch).write_bytes(b"damaged")
    write(tmp_path, 1)
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 1


def test_steps_are_ordered_as_numbers(tmp_path: Path) -> None:
    for epoch in (99_999_999, 100_000_000):
        write(tmp_path, epoch, keep=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-100000000.checkpoint"]


@pytest.mark.parametrize("name", ["step-best.checkpoint", "step-1.checkpoint", "step-00000003.checkpoint"])
def test_a_stranger_among_the_checkpoints_is_ignored_with_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    write(tmp_path, 1)
    (tmp_path / name).mkdir()
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 1
    assert capsys.readouterr().err == (
        f"warning: {tmp_path / name} is not a checkpoint of this program and is ignored; move it elsewhere\n"
    )
    for step in (4, 5):
        write(tmp_path, step, keep=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["latest", "step-00000005.checkpoint", name])
    assert capsys.readouterr().err == ""


def test_a_folder_with_strangers_only_has_no_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "step-best.checkpoint").write_bytes(b"")
    assert checkpoint.newest(tmp_path) is None
    assert capsys.readouterr().err.count("\n") == 1


def test_a_checkpoint_is_written_though_its_pointer_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latest").mkdir()
    path = write(tmp_path, 1)
    assert checkpoint.read(path).step == 1
    assert capsys.readouterr().err == (
        f"warning: {path} is written, but {tmp_path / 'latest'} could not be changed (Is a directory)\n"
    )


def stored(**content: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **content)
    return stream.getvalue()


def compressed(method: int, flags: int = 0) -> bytes:
    """Return an archive whose entries name a compression or flags, or a damaged deflated one for -1."""
    stream = io.BytesIO()
    np.savez_compressed(stream, metadata=np.array(json.dumps({"step": 2})))
    content = bytearray(stream.getvalue())
    if method < 0:
        # The first byte after the local header, its name and its extra field.
        start = 30 + int.from_bytes(content[26:28], "little") + int.from_bytes(content[28:30], "little")
        content[start] = 0xFF
        return bytes(content)
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = content.index(signature) + offset
        content[place : place + 4] = flags.to_bytes(2, "little") + method.to_bytes(2, "little")
    return bytes(content)


FOREIGN = {
    "no archive": b"hello",
    "empty": b"",
    "another archive": stored(weights=np.zeros(2)),
    "no arrays but one": stored(metadata=np.array(json.dumps({"step": 2})), arr_1=np.zeros(2)),
    "metadata in another format": stored(metadata=np.array("hello")),
    "metadata that is a list": stored(metadata=np.array("[1, 2]")),
    "no step": stored(metadata=np.array("{}")),
    "a step that is a word": stored(metadata=np.array(json.dumps({"step": "two"}))),
    "cut off within a compressed array": compressed(-1),
    "another compression": compressed(9),
    "a password": compressed(0, flags=1),
    "objects": stored(metadata=np.array({"step": 2}, dtype=object)),
}


@pytest.mark.parametrize("body", FOREIGN.values(), ids=FOREIGN)
def test_other_content_under_a_right_checksum_falls_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    write(tmp_path, 1)
    path = tmp_path / "step-00000002.checkpoint"
    path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.step == 1
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {path} has the right checksum, but not the content of a checkpoint (")
    assert warning.count("\n") == 1
