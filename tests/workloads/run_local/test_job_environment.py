"""What a run needs, rejected before its ranks start if that is certain."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workloads.run_local.conftest import launcher_of
from tests.workloads.run_local.test_runner import environment_with_mpirun
from training_workloads import InputError
from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs
from training_workloads.run_local.runner import run_locally

SETUP = "create it ('make setup', or as README.md of your project says), or give the one with the job's programs"


def test_rejects_a_program_that_only_the_image_has(manifest: Path, tmp_path: Path) -> None:
    before, mpirun, after = manifest.read_text().partition("- mpirun\n")
    manifest.write_text(before + mpirun + after.replace("- python\n", "- all_gather_perf\n", 1))
    venv = environment_with_mpirun(tmp_path)
    assert problem_of_run(manifest, venv) == (
        f"'program' is 'all_gather_perf', but it is not in '{venv}/bin' or on PATH; submit the job to a cluster if "
        "only the image has this program, such as an NCCL test"
    )


def test_rejects_an_environment_without_mpirun(manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    venv = tmp_path / "none"
    (venv / "bin").mkdir(parents=True)
    text = problem_of_run(manifest, venv).splitlines()[0]
    assert text == f"'environment' is '{venv}', but mpirun is not in its 'bin' or on PATH; {SETUP}"


def test_rejects_a_folder_without_an_environment(manifest: Path, tmp_path: Path) -> None:
    assert problem_of_run(manifest, tmp_path / "gone") == (
        f"'environment' is '{tmp_path}/gone', but it has no 'bin'; {SETUP}"
    )


def test_rejects_an_environment_without_horovod(manifest: Path, tmp_path: Path) -> None:
    venv = environment_with_mpirun(tmp_path, packages=())
    assert problem_of_run(manifest, venv) == (
        f"'environment' is '{venv}', but its python does not find horovod, which the ranks import; {SETUP}"
    )


def test_rejects_an_environment_whose_python_does_not_start(manifest: Path, tmp_path: Path) -> None:
    venv = environment_with_mpirun(tmp_path)
    (venv / "bin/python").write_text("#!/bin/sh\nexit 1\n")
    assert problem_of_run(manifest, venv) == f"'environment' is '{venv}', but its python does not start; {SETUP}"


def test_rejects_an_environment_without_python(manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv = environment_with_mpirun(tmp_path)
    (venv / "bin/python").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert problem_of_run(manifest, venv) == (
        f"'environment' is '{venv}', but python is not in its 'bin' or on PATH; {SETUP}"
    )


def test_rejects_a_module_that_is_not_installed(
    manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = environment_with_mpirun(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert problem_of_run(manifest, venv) == (
        "'program' is 'python -m training.digits', but Python does not find the module; go to the folder that has it "
        "(for 'training' that of the project), or install it into the environment"
    )


@pytest.mark.parametrize(
    ("exists", "problem"),
    [
        (False, "'program' is 'python train.py', but there is no such file; go to the folder that has it"),
        (True, "its python does not find horovod, which the ranks import"),
    ],
)
def test_the_script_of_a_job_is_checked_as_one_that_is_given(
    exists: bool, problem: str, manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = recipe("digits", command=("python", "train.py"))
    render_jobs([spec], manifest.parent)
    if exists:
        Path("train.py").write_text("from horovod import tensorflow\n")
    assert problem in problem_of_run(manifest, environment_with_mpirun(tmp_path, packages=()))


@pytest.mark.parametrize(
    ("program", "options", "text"),
    [
        (["python", "train.py"], [], "import sys\nsys.path.insert(0, 'lib')\nimport mylib\n"),
        (["python", "train.py"], [], "import nothing_such\n"),
        (["python", "-m", "mylib"], [], ""),
        (["python", "-m", "mylib.part"], [], ""),
        (["python", "-m", "theirs"], ["-x", "PYTHONPATH=/theirs"], ""),
        (["python", "theirs.py"], ["--wdir", "/theirs"], ""),
        # The question about this module fails, although Python starts.
        (["python", "-m", "__main__"], [], ""),
    ],
)
def test_what_may_run_is_not_rejected(
    program: list[str],
    options: list[str],
    text: str,
    job: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lib/mylib").mkdir(parents=True)
    Path("train.py").write_text(text)
    launcher = launcher_of(job)
    launcher["env"] = [*launcher["env"], {"name": "PYTHONPATH", "value": "lib"}]
    launcher["command"] = ["mpirun", "-np", "1", "--hostfile", "/etc/mpi/hostfile", *options, *program]
    Path("job.yaml").write_text(yaml.safe_dump(job))
    assert run_locally("job.yaml", volumes=tmp_path, environment=environment_with_mpirun(tmp_path, packages=())) == 0


def problem_of_run(manifest: Path, venv: Path) -> str:
    with pytest.raises(InputError) as caught:
        run_locally(manifest, volumes=venv.parent, environment=venv)
    return str(caught.value)
