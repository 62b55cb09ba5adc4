"""`run-local` as the user types it; tests/workloads/run_local has what it does."""

from pathlib import Path

import pytest

from tests.workloads.cli.conftest import Command
from tests.workloads.run_local.test_runner import environment_with_mpirun
from training_workloads.run_local.runner import only_run


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import horovod.tensorflow as hvd\n", "its python does not find horovod, which the ranks import"),
        ("def f(:\n", "it is not Python (line 1: "),
        ("\0", "it is not Python (line 1: "),
    ],
)
def test_a_script_that_cannot_start_is_rejected_once(text: str, problem: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "train.py").write_text(text)
    venv = environment_with_mpirun(tmp_path, packages=())
    code, output, errors = command("run-local", "train.py", f"--environment={venv}")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert problem in errors


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("import horovod.tensorflow as hvd\nhvd.callbacks.MetricAverageCallback()", True),
        ("from horovod import tensorflow as hvd\nhvd.callbacks.MetricAverageCallback()", True),
        ("import horovod.tensorflow.keras as hvd\nhvd.callbacks.MetricAverageCallback()", False),
        ("import horovod.tensorflow as hvd\nself.callbacks", False),
    ],
)
def test_callbacks_of_the_wrong_horovod(text: str, is_wrong: bool, tmp_path: Path, command: Command) -> None:
    (tmp_path / "train.py").write_text(text)
    venv = environment_with_mpirun(tmp_path, packages=("horovod",))
    errors = command("run-local", "train.py", f"--environment={venv}").err
    message = (
        "error: 'JOB' is 'hvd.callbacks in line 2 of train.py', but horovod.tensorflow has no callbacks; "
        "import horovod.tensorflow.keras as hvd, which has them\n"
    )
    assert (errors == message) == is_wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits-p3"], "'JOB' is 'digits-p3', but AWS has retired its instance type; give digits"),
        (["digits", "--volumes="], "'--volumes' is ''; give a folder"),
        (["digits", "--environment="], "'--environment' is ''; give a folder"),
        (["digits", "--ranks=two"], "'--ranks' is 'two'; give a whole number, such as 2"),
        (
            ["digits", "--launcher=mpirun"],
            "'--launcher' is 'mpirun', but digits is no Python script, and the launcher of a job is in its command; "
            "omit it",
        ),
        ([], "Missing argument 'JOB'; 'trainctl run-local --help' shows what to type"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str, command: Command) -> None:
    assert command("run-local", *arguments) == (2, "", f"error: {message}\n")


def test_a_second_run_of_a_job_is_rejected(tmp_path: Path, command: Command) -> None:
    (tmp_path / "training").mkdir()
    venv = environment_with_mpirun(tmp_path)
    with only_run("digits", tmp_path):
        code, output, errors = command("run-local", "digits", f"--environment={venv}")
    assert (code, output) == (2, "")
    assert errors.startswith("error: 'JOB' is 'digits', but this job runs already (process ")
