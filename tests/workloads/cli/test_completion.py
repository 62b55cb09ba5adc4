"""Completion in a real bash; the scripts for other shells ask the same program."""

import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import click
import pytest

from tests.workloads.cli.conftest import Command
from training_workloads.cli import program
from training_workloads.cli.completion import complete_jobs

# What bash does at a tab: the words so far, the last of which is not complete.
ASK = """
set -eu
source <(trainctl completion bash)
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _trainctl_completion "$1"; echo "${COMPREPLY[*]}"; }
ask trainctl rend
ask trainctl render digits-p
ask trainctl platform size-lustre --images
"""


def test_bash_completes_commands_recipes_and_options() -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", ASK], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["render", "digits-p4d digits-p5", "--images-per-second"]


def test_what_a_file_with_recipes_prints_is_no_candidate(tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text("import sys\nprint('digits-print')\nprint('digits-e', file=sys.stderr)\n")
    words = {"COMP_WORDS": "trainctl render digits-p", "COMP_CWORD": "2", "_TRAINCTL_COMPLETE": "bash_complete"}
    result = subprocess.run(
        [sys.executable, "-m", "training_workloads"],
        cwd=tmp_path,
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout.split(), result.stderr) == (["plain,digits-p4d", "plain,digits-p5"], "")


def names_after_digits(folder: Path) -> list[str]:
    words = {"COMP_WORDS": "trainctl render digits-", "COMP_CWORD": "2", "_TRAINCTL_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "training_workloads"]
    environment = {**os.environ, **words}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return [line for line in ended.stdout.splitlines() if "digits-p" not in line and "digits-spot" not in line]


def test_a_name_that_a_shell_would_run_is_no_candidate(tmp_path: Path) -> None:
    names = ["digits-mine", "digits-a; reboot", "digits-$(reboot)", "digits-`reboot`", "digits-\x1b[2J", "digits-b\nc"]
    (tmp_path / "recipes.py").write_text(f"RECIPES = {dict.fromkeys(names)}")
    assert names_after_digits(tmp_path) == ["plain,digits-mine"]


def test_a_file_with_recipes_that_has_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "recipes.py")
    assert names_after_digits(tmp_path) == []
    (tmp_path / "recipes.py").unlink()
    (tmp_path / "recipes.py").symlink_to("/dev/zero")
    assert names_after_digits(tmp_path) == []
    (tmp_path / "recipes.py").unlink()
    (tmp_path / "recipes.py").write_text("RECIPES = {'digits-mine': 0}" + "#" * 2**20)
    assert names_after_digits(tmp_path) == []


def test_a_cluster_that_does_not_answer_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Event()
    monkeypatch.setattr("training_workloads.cli.completion._PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr("training_workloads.cli.completion._job_names", lambda _: ["late"] * answered.wait(20))
    start = time.monotonic()
    assert complete_jobs(click.Context(program), click.Argument(["name"]), "") == []
    assert time.monotonic() - start < 10
    answered.set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_prints_the_script_of_a_shell(shell: str, command: Command) -> None:
    code, output, errors = command("completion", shell)
    assert (code, errors) == (0, "")
    assert f"_TRAINCTL_COMPLETE={shell}_complete" in output


def test_rejects_another_shell(command: Command) -> None:
    assert command("completion", "tcsh") == (2, "", "error: 'SHELL' is 'tcsh'; give one of bash, zsh, fish\n")
