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
