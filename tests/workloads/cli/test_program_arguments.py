"""Arguments of a job's program behind `--`, and scripts as jobs, as the user types them."""

from pathlib import Path

import pytest
import yaml

from tests.workloads.cli.conftest import Command
from training_workloads.run_local import argument_check
from training_workloads.run_local.argument_check import ONLY_PARSE, check_arguments
from training_workloads.run_local.runner import planned
from training_workloads.validation import InputError

SCRIPT_JOB = ("train.py", "--workers=2", "--instance-type=p5.48xlarge")


def test_render_appends_them_to_the_program(tmp_path: Path, command: Command) -> None:
    assert command("render", "digits", "--", "--epochs", "3").code == 0
    job, *_ = yaml.safe_load_all((tmp_path / "dist/jobs/digits.k8s.yaml").read_text())
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert launcher["command"][-4:] == ["--output-dir", "/fsx/runs/digits", "--epochs", "3"]


def test_run_local_appends_them_to_the_program_of_a_recipe(tmp_path: Path) -> None:
    run, origin, _ = planned("digits", tmp_path, tmp_path, None, ["--epochs", "3"])
    assert (run.command[-2:], run.program[-2:], origin) == (("--epochs", "3"), ("--epochs", "3"), "the recipe digits")


def test_a_script_becomes_a_job(tmp_path: Path, command: Command) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    code, output, errors = command("render", *SCRIPT_JOB, "--", "--lr", "0.1")
    assert (code, output) == (0, "dist/jobs/train.k8s.yaml\n")
    assert "write a Dockerfile with 'FROM localhost/training-torch:latest' and 'COPY train.py " in errors
    jobs = yaml.safe_load_all((tmp_path / output.strip()).read_text())
    (job,) = (each for each in jobs if each["kind"] == "Job")
    (worker,) = job["spec"]["template"]["spec"]["containers"]
    assert worker["command"][-5:] == ["--no-python", "python", "train.py", "--lr", "0.1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["render", "train.py", "--workers=2"],
            "'--instance-type' is missing, but the job of train.py needs it; give the EC2 type of its nodes, such as "
            "p4d.24xlarge ('trainctl offers' lists them)",
        ),
        (
            ["render", "train.py", "--instance-type=p5.48xlarge"],
            "'--workers' is missing, but the job of train.py needs it; give the number of its nodes, such as 2",
        ),
        (
            ["render", *SCRIPT_JOB, "--nodes=2"],
            "'--nodes' is 2, but the job of train.py does not have it; give 'workers'",
        ),
        (["render", "tran.py"], "'RECIPE' is 'tran.py', but it does not exist; give one of train.py"),
        (
            ["render", "digits", "--launcher=mpirun"],
            "'--launcher' is 'mpirun', but only a script takes it; omit it, or give a Python script",
        ),
        (
            ["render", "digits", "digits-p4d", "--", "--epochs", "3"],
            "'arguments' is '--epochs', but 2 recipes are rendered; give one recipe",
        ),
        (
            ["render", "nccl-p4d", "--", "--x"],
            "'arguments' is '--x', but the job nccl-p4d has no program that takes arguments; omit it; "
            "'trainctl render --help' lists the options of a job",
        ),
        (
            ["submit", "job.yaml", "--", "--epochs", "3"],
            "'arguments' is '--epochs 3', but only a recipe or a Python script takes it; omit it, and change the "
            "manifest: 'trainctl render' takes it too",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    assert command(*arguments) == (2, "", f"error: {message}\n")


def test_submit_takes_a_recipe_and_names_the_manifest_that_it_does_not_use(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert command("render", "digits").code == 0
    code, _, errors = command("submit", "digits", "--image=repo/image:1", "--", "--epochs", "3")
    assert (code, errors.splitlines()[0]) == (
        3,
        "note: dist/jobs/digits.k8s.yaml exists and is not used; give its path to submit that",
    )


def environment_that_prints(folder: Path, line: str, code: int) -> Path:
    """Return a folder whose training environment prints a line if the program only parses."""
    (folder / "training").mkdir()
    python = folder / ".venv-training/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\n[ "${ONLY_PARSE}" = 1 ] && echo "{line}" >&2 && exit {code}\n')
    python.chmod(0o755)
    return folder


def test_the_program_itself_checks_them_before_anything_is_rendered(tmp_path: Path, command: Command) -> None:
    environment_that_prints(tmp_path, "error: '--epochs' is 0; give 1 or more", 2)
    expected = "error: 'arguments' is '--epochs 0', but '--epochs' is 0; give 1 or more\n"
    assert command("render", "digits", "--", "--epochs", "0") == (2, "", expected)
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize("program", [("python", "train.py"), ("python", "-m", "mine.train"), ("train",)])
def test_another_program_is_not_started(program: tuple[str, ...], tmp_path: Path) -> None:
    environment_that_prints(tmp_path, "error: it ran", 2)
    check_arguments(program, "mpirun", ["--epochs", "0"], tmp_path)
    with pytest.raises(InputError, match="it ran"):
        check_arguments(("python", "-m", "training.digits"), "mpirun", ["--epochs", "0"], tmp_path)


def test_a_program_that_fails_otherwise_says_so_when_it_runs(tmp_path: Path) -> None:
    check_arguments(
        ("python", "-m", "training.digits"), "mpirun", ["-x"], environment_that_prints(tmp_path, "error: broken", 1)
    )


def test_the_program_and_the_check_have_the_same_variable(root: Path) -> None:
    assert f'ONLY_PARSE = "{argument_check.ONLY_PARSE}"' in (root / "training/runtime/options.py").read_text()
