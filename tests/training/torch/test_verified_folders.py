from pathlib import Path

import pytest

from training.torch.verified_folders import complete, newest, remove_earlier


def write(output: Path, step: int, *, completed: bool = True) -> Path:
    folder = output / f"checkpoint-{step}"
    (folder / "part").mkdir(parents=True)
    (folder / "model.bin").write_bytes(bytes([step]))
    (folder / "part/optimizer.bin").write_bytes(b"state")
    if completed:
        complete(folder, 2)
    return folder


def test_the_newest_complete_checkpoint_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert newest(tmp_path) is None
    write(tmp_path, 9)
    expected = write(tmp_path, 10)
    write(tmp_path, 20, completed=False)
    (tmp_path / "checkpoint-best").mkdir()
    found = newest(tmp_path)
    assert found is not None
    assert (found.path, found.ranks) == (expected, 2)
    assert "checkpoint-20 is not used, because it was not completed" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.bin", "part/optimizer.bin"])
def test_a_damaged_checkpoint_is_not_used(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = write(tmp_path, 10)
    (write(tmp_path, 20) / name).write_bytes(b"damaged")
    found = newest(tmp_path)
    assert found is not None
    assert found.path == expected
    assert "because its files are not as they were written" in capsys.readouterr().err


def test_earlier_checkpoints_are_removed(tmp_path: Path) -> None:
    folders = [write(tmp_path, step) for step in (8, 9, 10, 11)]
    remove_earlier(folders[2], 2)
    assert [each.exists() for each in folders] == [False, True, True, True]
