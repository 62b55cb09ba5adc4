import os
import sys
import time
from pathlib import Path

import pytest

from tests.workloads.run_local.test_runner import environment_with_mpirun
from training_workloads.run_local import unsaved_training as module
from training_workloads.run_local.runner import run_locally
from training_workloads.run_local.supervisor import Ending
from training_workloads.run_local.unsaved_training import unsaved_training

KILLED = Ending(code=137, reason="rank 1 was ended by SIGKILL")
INTERRUPTED = Ending(code=130, reason="ended by SIGINT", stopped=True)
SAVED = Ending(code=75, reason="rank 0 ended with exit code 75")
DONE = Ending(code=0, reason=None)
MISTAKE = Ending(code=2, reason="rank 0 ended with exit code 2")


def line(folder: Path, ending: Ending = KILLED, *, began: float = 0.0, seconds: float = 2460.0) -> str | None:
    return unsaved_training("train.py", ending, folder, began=began, seconds=seconds)


@pytest.mark.parametrize("ending", [KILLED, INTERRUPTED])
def test_a_run_that_left_no_file_is_repeated(tmp_path: Path, ending: Ending) -> None:
    assert line(tmp_path, ending) == (
        f"train.py has written no file below {tmp_path}: unless it saves its state elsewhere, the same command begins "
        "again and repeats 41 minutes; docs/exact-resume.md shows how a script resumes"
    )


@pytest.mark.parametrize("ending", [DONE, SAVED, MISTAKE])
def test_a_run_that_ended_or_saved_its_state_is_not(tmp_path: Path, ending: Ending) -> None:
    assert line(tmp_path, ending) is None


def test_a_short_run_has_nothing_to_repeat(tmp_path: Path) -> None:
    assert line(tmp_path, seconds=59) is None


@pytest.mark.parametrize("name", ["runs/a/checkpoint-1/model.pt", "backup.h5", "out/epoch"])
def test_any_file_may_have_the_state(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    assert line(tmp_path) is None


@pytest.mark.parametrize(
    "name", [".venv/new.py", "__pycache__/train.pyc", "logs/events.out.tfevents.1", "train.log", "runs/.digits.lock"]
)
def test_files_without_a_state_do_not_count(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    assert line(tmp_path) is not None


def test_files_of_earlier_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "data.npz").touch()
    hour_ago = time.time() - 3600
    os.utime(tmp_path / "data.npz", (hour_ago, hour_ago))
    assert line(tmp_path, began=time.time()) is not None


def test_a_folder_with_too_many_files_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    assert line(tmp_path, began=time.time() + 60) is None


def test_run_local_says_it_of_a_script_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_LEAST_SECONDS", 0.0)
    venv = environment_with_mpirun(tmp_path / "environment", body="sys.exit(1)")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    hours_ago = time.time() - 7200
    os.utime(folder / "train.py", (hours_ago, hours_ago))
    # The placeholder reads what a job's launcher has.
    for name in ("TF_NUM_INTRAOP_THREADS", "TRAINING_DATA_THREADS"):
        monkeypatch.setenv(name, "1")
    assert run_locally("train.py", volumes=tmp_path / "runs", environment=venv) == 1
    assert f"run-local: train.py has written no file below {folder}: unless" in capfd.readouterr().err
