"""The arguments of a job's program, checked by its own parser before anything is rendered or started."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from training_workloads.mpijob.programs import USER_ERROR
from training_workloads.run_local.runner import default_environment
from training_workloads.validation import InputError, Problem

__all__ = ["ONLY_PARSE", "check_arguments"]

#: With this variable a program of `training/` ends when its command line is parsed (`training/runtime/options.py`).
ONLY_PARSE: Final = "TRAINING_ONLY_PARSE"

_PACKAGE = "training"

# More than TensorFlow takes to import on a busy machine.
_PATIENCE_SECONDS = 120

_ERROR = "error: "


def check_arguments(command: Sequence[str], launcher: str, arguments: Sequence[str], folder: Path = Path()) -> None:
    """Check the command line of a program of `training/` with its own parser; another program does so when it starts.

    Nothing is checked where the folder has no environment or no `training/`.

    Raises:
        InputError: The program rejects its command line.
    """
    python = folder / default_environment(launcher) / "bin" / "python"
    module = command[2] if tuple(command[:2]) == ("python", "-m") else ""
    is_ours = module.partition(".")[0] == _PACKAGE and (folder / _PACKAGE).is_dir()
    if not (is_ours and python.exists()):
        return
    variables = {**os.environ, ONLY_PARSE: "1"}
    try:
        ended = subprocess.run(
            [python.absolute(), *command[1:]],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return
    said = [line.removeprefix(_ERROR) for line in ended.stderr.splitlines() if line.startswith(_ERROR)]
    if ended.returncode == USER_ERROR and said:
        problem, _, fix = said[-1].partition("; ")
        fix = fix or f"'python -m {module} --help' lists the options"
        raise InputError(Problem(path=("arguments",), given=" ".join(arguments), allowed=problem, fix=fix))
