"""Two runs of one job would write into one folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from training_workloads.run_local.runner import only_run
from training_workloads.validation import InputError

HOLD = """
import sys
from pathlib import Path
from training_workloads.run_local.runner import only_run
with only_run("digits", Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_run_is_rejected_while_the_first_one_runs(tmp_path: Path) -> None:
    with only_run("digits", tmp_path), pytest.raises(InputError) as caught, only_run("digits", tmp_path):
        raise AssertionError("both run")
    assert str(caught.value) == (
        f"'file' is 'digits', but this job runs already (process {os.getpid()}), and both would write into "
        f"{tmp_path}/runs; wait for its end, or give another folder with '--volumes'"
    )


def test_other_jobs_and_other_folders_run_beside_it(tmp_path: Path) -> None:
    with only_run("digits", tmp_path), only_run("resnet50", tmp_path), only_run("digits", tmp_path / "other"):
        assert (tmp_path / "other/runs").is_dir()


def test_a_killed_run_leaves_no_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"process {process.pid}"), only_run("digits", tmp_path):
            pass
        process.kill()
        process.wait()
    with only_run("digits", tmp_path):
        assert (tmp_path / "runs/.digits.lock").read_text() == str(os.getpid())


def test_a_name_from_a_manifest_leads_to_no_other_folder(tmp_path: Path) -> None:
    with only_run("../../x y", tmp_path):
        assert [path.name for path in tmp_path.rglob("*.lock")] == ["..._.._x_y.lock"]


def test_rejects_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(InputError) as caught, only_run("digits", tmp_path):
        pass
    assert str(caught.value) == (
        f"'volumes' is '{tmp_path}', but {tmp_path}/runs cannot be written (File exists); give a folder that you may "
        "write to"
    )
