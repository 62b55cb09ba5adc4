import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from tests.workloads.cli.conftest import Command
from training_workloads.__main__ import PACKAGES
from training_workloads.__main__ import main as entry_point
from training_workloads.cli import Group, program
from training_workloads.cli import main as entry_point_of_cli
from training_workloads.cli.commands import Command as CommandClass
from training_workloads.cli.commands import error_lines
from training_workloads.cli.top_level import COMMANDS
from training_workloads.validation import MISSING, InputError, Problem


def problem(*path: str | int, given: Any = 5, **more: Any) -> Problem:
    return Problem(path=path, given=given, fix="give another", **more)


def error_of(*problems: Problem) -> str:
    """Return the message that the user reads when a command of a group raises some problems."""

    @click.command(cls=CommandClass)
    @click.argument("files", metavar="FILE...", nargs=-1)
    @click.argument("job")
    @click.option("--mount-name")
    @click.option("--lustre-mount-name", "-l")
    def run(**_: Any) -> None:
        raise InputError(*problems)

    group = Group("group")
    group.add_command(run)
    with pytest.raises(click.UsageError) as caught:
        group(["run", "a.yaml", "b"], standalone_mode=False)
    return "".join(f"{line}\n" for line in error_lines(caught.value))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (problem("mount_name"), "'--mount-name' is 5; give another"),
        (problem("lustre", "mount_name"), "'--lustre-mount-name' is 5; give another"),
        (problem("efs", "mount_name"), "'--mount-name' is 5; give another"),
        (problem("file", given="a.yaml", allowed="it is empty"), "'FILE' is 'a.yaml', but it is empty; give another"),
        (problem("job", given=MISSING), "'JOB' is missing; give another"),
        (problem("node_groups", "gpu", "size"), "'node_groups.gpu.size' is 5; give another"),
        (problem("mount_name", source="job.yaml:3"), "job.yaml:3: 'mount_name' is 5; give another"),
    ],
)
def test_a_value_has_the_name_that_the_user_typed(found: Problem, text: str) -> None:
    assert error_of(found) == f"error: {text}\n"


def test_every_problem_is_a_line() -> None:
    assert [line.split()[1] for line in error_of(problem("job"), problem("other")).splitlines()] == ["'JOB'", "'other'"]


@pytest.mark.parametrize("name", [name for commands in COMMANDS.values() for name in commands])
def test_the_line_of_a_command_in_the_help_begins_its_own_help(name: str) -> None:
    (line,) = (commands[name][1] for commands in COMMANDS.values() if name in commands)
    command = program.get_command(click.Context(program), name)
    assert command is not None
    assert command.get_short_help_str(200).startswith(line.removesuffix("."))


def test_the_package_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training_workloads", "platform", "size-lustre", "--images-per-second=0"]
    result = subprocess.run(
        [*command, "--bytes-per-image=1"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "error: '--images-per-second' is 0.0; give a number above 0, such as 2500\n"


def test_a_full_disk_is_a_line(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "training_workloads",
        "platform",
        "size-lustre",
        "--images-per-second=9",
        "--bytes-per-image=1",
    ]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 74
    assert result.stderr == (
        "error: the output cannot be written (No space left on device); free space, or write it elsewhere\n"
    )


@pytest.mark.parametrize(
    ("arguments", "closed", "code", "errors"),
    [
        (["--version"], "stdout", 0, ""),
        (["get"], "stderr", 2, ""),
        (["lint", "-"], "stdin", 2, "error: 'FILE' is '-', but it contains no Kubernetes object"),
    ],
)
def test_a_closed_stream_is_an_empty_one(
    arguments: list[str], closed: str, code: int, errors: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, closed, None)
    result = command(*arguments)
    getattr(sys, closed).close()
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(errors)


def test_ctrl_c_is_a_line() -> None:
    command = [sys.executable, "-m", "training_workloads", "lint", "-", "/dev/null"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        # Until it reads, so that this is longer than the pipe is.
        process.stdin.write("#" * 200_000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_an_error_of_node_js_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = {"JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(tmp_path / "file/cache")}
    command = [sys.executable, "-m", "training_workloads", "render", "digits"]
    result = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **cache}, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (74, "", 1)
    assert result.stderr.startswith("error: Node.js cannot run cdk8s: Cannot use the jsii package cache in ")


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("click", ["-h"]),
        ("psutil", ["run-local", "job.yaml"]),
        ("kubernetes_validate", ["lint", "examples/broken_job.yaml"]),
        ("kubernetes_validate", ["submit", "examples/broken_job.yaml"]),
        ("kubernetes", ["list"]),
    ],
)
def test_reports_a_package_that_is_not_installed(module: str, arguments: list[str]) -> None:
    program = [
        f"import sys; sys.modules[{module!r}] = None; sys.argv = ['trainctl', *{arguments}]",
        "from training_workloads.__main__ import main; main()",
    ]
    result = subprocess.run([sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"error: '{module}' is missing; run pip install 'cdk-training-cluster[cli]'\n"


def test_the_packages_of_the_command_line_are_those_of_its_extras(root: Path) -> None:
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {re.split(r"[^a-z0-9-]", each)[0].replace("-", "_") for each in (*extras["cli"], *extras["jobs"])}
    assert names - {"cdk_training_cluster"} == PACKAGES


def test_a_missing_module_of_another_package_is_not_answered_with_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def command() -> None:
        raise ModuleNotFoundError("No module named 'torchx'", name="torchx")

    monkeypatch.setattr("training_workloads.cli.main", command)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(ModuleNotFoundError, match="torchx"):
        entry_point()


def test_a_deleted_folder_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (folder := tmp_path / "deleted").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PWD", str(folder))
    monkeypatch.setattr(sys, "argv", ["trainctl", "render", "digits"])
    folder.rmdir()
    with pytest.raises(SystemExit, match="2"):
        entry_point_of_cli()
    assert capsys.readouterr().err == (
        f"error: 'current folder' is '{folder}', but it was deleted; go to another folder\n"
    )


def test_a_missing_module_of_the_project_is_a_bug() -> None:
    program = [
        "import sys; sys.modules['training_workloads.cli.program'] = None",
        "from training_workloads.__main__ import main; main()",
    ]
    result = subprocess.run([sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "ModuleNotFoundError: import of training_workloads.cli.program halted" in result.stderr
