"""The copy of a folder for each run."""

from pathlib import Path

import pytest

from training_workloads.resume_test import working_copy
from training_workloads.validation import InputError, enforce


def test_a_copy_has_the_program_and_its_data_alone(tmp_path: Path) -> None:
    for name in ("train.py", "data/x.npy", ".git/HEAD", "env/pyvenv.cfg", "results/old/x", "pkg/__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for name in ("results", "results of another test"):
        (tmp_path / name).mkdir(exist_ok=True)
        working_copy.mark(tmp_path / name)
    (tmp_path / "link").symlink_to("data/x.npy")
    copy = tmp_path / "results/run"
    working_copy.copy_folder(tmp_path, copy)
    found = {str(path.relative_to(copy)) for path in copy.rglob("*") if not path.is_dir() or path.is_symlink()}
    assert found == {"train.py", "data/x.npy", "link"}
    assert (copy / "link").is_symlink()


def test_the_next_run_takes_over_what_a_run_has_not_changed(tmp_path: Path) -> None:
    source, first, second = tmp_path / "source", tmp_path / "first", tmp_path / "second"
    (source / "data").mkdir(parents=True)
    for name in ("data/large", "state", "removed"):
        (source / name).write_text("of the source")
    working_copy.copy_folder(source, first)
    copied = working_copy.states(first)
    data = (first / "data/large").stat().st_ino
    (first / "state").write_text("of the first run")
    (first / "removed").unlink()
    working_copy.hand_on(first, copied, second)
    working_copy.copy_folder(source, second)
    assert (second / "data/large").stat().st_ino == data
    assert {name: (second / name).read_text() for name in ("state", "removed")} == dict.fromkeys(
        ("state", "removed"), "of the source"
    )
    # What it has written stays, to be compared.
    assert [path.name for path in first.rglob("*") if path.is_file()] == ["state"]


def test_a_folder_that_fills_the_disk_is_rejected(tmp_path: Path) -> None:
    with (tmp_path / "data.bin").open("wb") as file:
        file.truncate(3 * 1024**3)
    with pytest.raises(InputError, match=r"its 3.0 GiB would be copied for each run, and 2 GiB may be; start in"):
        enforce(tmp_path, [working_copy.fits_into_copies])
    (tmp_path / "results").mkdir()
    working_copy.mark(tmp_path / "results")
    (tmp_path / "data.bin").rename(tmp_path / "results/data.bin")
    enforce(tmp_path, [working_copy.fits_into_copies])


def test_absolute_paths_inside_the_folder_are_those_of_the_copy(tmp_path: Path) -> None:
    words = ["--out", f"{tmp_path}/runs", f"--data={tmp_path}/d", "/fsx/data", "runs"]
    assert working_copy.inside(tmp_path, words, Path("/copy")) == ["--out", "/copy/runs", "--data=/copy/d", *words[3:]]
