import errno
import json
import math
import os
import stat
from collections.abc import Callable
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


def test_a_prepared_link_does_not_overwrite_what_it_points_to(tmp_path: Path) -> None:
    mine, folder = tmp_path / "mine", tmp_path / "shared"
    mine.write_text("mine")
    folder.mkdir()
    (folder / ".results.json.partial").symlink_to(mine)
    (folder / "results.json").symlink_to(mine)
    files.make_writable(folder)
    files.write_atomically(folder / "results.json", b"results")
    files.make_atomically(folder / "model.keras", lambda path: path.write_bytes(b"model"))
    assert mine.read_text() == "mine"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "results.json": "results",
        "model.keras": "model",
    }
    assert not (folder / "results.json").is_symlink()


def test_the_file_is_made_where_no_other_user_can_write(tmp_path: Path) -> None:
    places: list[Path] = []

    def make(path: Path) -> None:
        places.append(path)
        path.write_bytes(b"")
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    files.make_atomically(tmp_path / "model.keras", make)
    assert places[0].parent.parent == tmp_path
    assert list(tmp_path.iterdir()) == [tmp_path / "model.keras"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a link of another user")
@pytest.mark.parametrize("inside", ["", "checkpoints"])
def test_a_link_of_another_user_is_no_output_folder(tmp_path: Path, inside: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "run" / inside
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    files.make_writable(tmp_path / "run", inside)
    os.chown(link, 1234, 1234, follow_symlinks=False)
    with pytest.raises(UserError, match=f"but {link} is a link of user 1234; give the folder to which it points"):
        files.make_writable(tmp_path / "run", inside)


def test_appends_to_a_new_and_to_an_old_file(tmp_path: Path) -> None:
    for line in (b"one\n", b"two\n"):
        with files.append(tmp_path / "log") as stream:
            stream.write(line)
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_a_prepared_link_is_not_appended_to(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    mine = tmp_path / "mine"
    mine.write_text("untouched")
    make(mine, tmp_path / "log")
    with pytest.raises(OSError, match=r"log (is a link|has other names, or is not a regular file)"):
        files.append(tmp_path / "log")
    assert mine.read_text() == "untouched"


def test_a_pipe_is_not_appended_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    # A pipe has no reader here, or another user's.
    reader = os.open(tmp_path / "log", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="is not a regular file"):
        files.append(tmp_path / "log")
    os.close(reader)
    with pytest.raises(OSError, match="No such device or address"):
        files.append(tmp_path / "log")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a link of another user")
def test_nothing_is_appended_behind_a_link_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "logs").symlink_to(tmp_path / "elsewhere")
    os.chown(tmp_path / "logs", 1234, 1234, follow_symlinks=False)
    with pytest.raises(OSError, match="logs is a link of user 1234"):
        files.append(tmp_path / "logs" / "log")
    assert not list((tmp_path / "elsewhere").iterdir())
