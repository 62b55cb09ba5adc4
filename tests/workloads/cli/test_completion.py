"""Completion in a real bash; the scripts for other shells ask the same program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workloads.cli.conftest import Command

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
    assert result.stdout.splitlines() == ["render", "digits-p3 digits-p4d digits-p5", "--images-per-second"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_prints_the_script_of_a_shell(shell: str, command: Command) -> None:
    code, output, errors = command("completion", shell)
    assert (code, errors) == (0, "")
    assert f"_TRAINCTL_COMPLETE=complete_{shell}" in output


def test_rejects_another_shell(command: Command) -> None:
    assert command("completion", "tcsh") == (2, "", "error: 'SHELL' is 'tcsh'; give one of bash, zsh, fish\n")
