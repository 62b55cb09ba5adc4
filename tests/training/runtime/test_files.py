import errno
import json
import math
import os
from pathlib import Path

import pytest

from training.runtime import files
from training.runtime.errors import UserError


def test_json_replaces_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text("old")
    files.write_json(path, {"accuracy": 0.5})
    assert json.loads(path.read_text()) == {"accuracy": 0.5}
    assert list(tmp_path.iterdir()) == [path]


def test_json_has_null_for_what_is_not_finite(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    files.write_json(path, {"history": [{"loss": math.nan}], "speeds": (math.inf, -math.inf, 2.5), "ranks": 2})
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert content == {"history": [{"loss": None}], "speeds": [None, None, 2.5], "ranks": 2}


def test_content_reaches_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        events.append("fsync")
        fsync(descriptor)

    def noted_replace(self: Path, target: Path) -> Path:
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    files.write_atomically(tmp_path / "file", b"content")
    assert events == ["fsync", "rename", "fsync"]


def test_rejected_content_gets_no_name_and_leaves_no_file(tmp_path: Path) -> None:
    def reject(path: Path) -> None:
        raise ValueError(path.read_bytes())

    with pytest.raises(ValueError, match="content"):
        files.write_atomically(tmp_path / "file", b"content", check=reject)
    assert list(tmp_path.iterdir()) == []


def test_error_of_a_full_disk_asks_for_room() -> None:
    error = files.unwritable(Path("/runs/a"), OSError(errno.ENOSPC, "No space left on device"))
    assert str(error) == (
        f"'--output-dir' is /runs/a, where user {os.getuid()} cannot write (No space left on device); make room there"
    )


def test_creates_the_output_folder(tmp_path: Path) -> None:
    files.make_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_rejects_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    # Below a file, since root may write everywhere else.
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "run"
    with pytest.raises(UserError) as caught:
        files.make_writable(folder)
    assert str(caught.value) == (
        f"'--output-dir' is {folder}, where user {os.getuid()} cannot write (Not a directory); "
        "a part of the path is a file: give another"
    )


def test_error_without_a_reason_of_the_system_has_its_own_words() -> None:
    assert "cannot write (the connection is lost); give" in str(
        files.unwritable(Path("a"), OSError("the connection is lost"))
    )
