"""The environment of a local run: what its ranks need, found before they start, so that each does not fail alone."""

import ast
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from training_workloads.recipes.scripts import TORCHRUN
from training_workloads.run_local.local_plan import LocalRun
from training_workloads.validation import Problem, Problems, enforce

__all__ = ["check_environment"]

_FIX = "create it ({}, or as README.md of your project says), or give the one with the job's programs"

# The environment's own Python answers. It finds packages and reads files, because to import TensorFlow takes seconds.
# Other imports are not checked: the program may extend its search path, and Python's own message names the module.
_FIND = """
import ast, json, os, sys
from importlib.util import find_spec

script, module = sys.argv[1:]
files, exists, problem, body = [script], True, "", []
if script:
    sys.path[0] = os.path.dirname(os.path.abspath(script))
else:
    package, *parts = module.split(".")
    spec = find_spec(package)
    exists = spec is not None
    folders = [os.path.join(each, *parts) for each in (spec.submodule_search_locations or ())] if exists else []
    files = [os.path.join(each, "__main__.py") for each in folders] + [each + ".py" for each in folders]
    files += [spec.origin] if exists and not folders else []
for file in filter(os.path.isfile, files):
    try:
        body += ast.parse(open(file, "rb").read()).body
    except (SyntaxError, ValueError) as error:
        problem = "line %s: %s" % (getattr(error, "lineno", None) or 1, getattr(error, "msg", error))
# Not those in a `try` or a function: the program may do without them.
names = [each.name for found in body if isinstance(found, ast.Import) for each in found.names]
names += [found.module for found in body if isinstance(found, ast.ImportFrom) and not found.level]
horovod = "horovod" in [name.partition(".")[0] for name in names] and find_spec("horovod") is None
print()
print(json.dumps([problem if script else "", exists, not horovod]))
"""

# Options of the launcher after which the ranks search elsewhere than this program does.
_ELSEWHERE = ("wdir", "wd")
_SEARCH_PATH = "PYTHONPATH="


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The findings of the environment's Python.

    Attributes:
        problem: The mistake in the text of the script; empty if there is none.
        module: Whether it finds the package of the module.
        horovod: Whether it finds Horovod, if the script or the module imports that.
    """

    problem: str = ""
    module: bool = True
    horovod: bool = True


@dataclass(frozen=True, kw_only=True)
class _Needs:
    """The needs of a run, and the environment to search.

    Attributes:
        run: The run.
        environment: The virtual environment, as the user gave it.
        variables: Every variable of the run.
    """

    run: LocalRun
    environment: Path
    variables: dict[str, str]

    @property
    def path(self) -> str:
        """The `PATH` of the run."""
        return self.variables["PATH"]

    @property
    def is_elsewhere(self) -> bool:
        """Whether the launcher gives the ranks another folder or search path."""
        options = self.run.command[: len(self.run.command) - len(self.run.program)]
        return any(word.lstrip("-") in _ELSEWHERE or word.startswith(_SEARCH_PATH) for word in options)

    def python(self, *arguments: str) -> str | None:
        """Return the output of the environment's Python; None if it fails."""
        command = [str(shutil.which("python", path=self.path)), *arguments]
        try:
            return subprocess.run(command, env=self.variables, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError, UnicodeDecodeError):
            return None

    @cached_property
    def found(self) -> _Found | None:
        """The findings of the environment's Python; None if it does not start."""
        answer = self.python("-c", _FIND, self.run.script or "", self.run.module or "")
        try:
            problem, module, horovod = json.loads((answer or "").splitlines()[-1])
        except (ValueError, IndexError):
            # The question failed, for example in the environment's own `sitecustomize`: nothing is certain.
            return None if self.python("-c", "") is None else _Found()
        return _Found(problem=problem, module=module, horovod=horovod)


def check_environment(run: LocalRun, environment: Path, variables: dict[str, str]) -> None:
    """Check that the launcher, the program of the ranks, and Horovod if it imports that, are there."""
    needs = _Needs(run=run, environment=environment, variables=variables)
    enforce(needs, [_has_programs])
    enforce(needs, [_has_launcher, _has_program, _has_script])
    enforce(needs, [_has_packages])


def _problem(needs: _Needs, allowed: str) -> Problem:
    command = "'make setup-torch'" if needs.run.launcher == TORCHRUN else "'make setup'"
    fix = _FIX.format(command)
    return Problem(path=("environment",), given=str(needs.environment), allowed=allowed, fix=fix)


def _has_programs(needs: _Needs) -> Problems:
    if not (needs.environment / "bin").is_dir():
        yield _problem(needs, "it has no 'bin'")


def _has_launcher(needs: _Needs) -> Problems:
    launcher = needs.run.launcher
    if not shutil.which(launcher, path=needs.path):
        yield _problem(needs, f"{launcher} is not in its 'bin' or on PATH")


def _has_program(needs: _Needs) -> Problems:
    program = "".join(needs.run.program[:1])
    if not program or shutil.which(program, path=needs.path):
        return
    if program == "python":
        yield _problem(needs, "python is not in its 'bin' or on PATH")
        return
    allowed = f"it is not in '{needs.environment}/bin' or on PATH"
    fix = "submit the job to a cluster if only the image has this program, such as an NCCL test"
    yield Problem(path=("program",), given=program, allowed=allowed, fix=fix)


def _has_script(needs: _Needs) -> Problems:
    script = needs.run.script
    if script and not needs.is_elsewhere and not Path(script).is_file():
        fix = "go to the folder that has it"
        yield Problem(path=("program",), given=f"python {script}", allowed="there is no such file", fix=fix)


def _has_packages(needs: _Needs) -> Problems:
    if needs.is_elsewhere or not (needs.run.script or needs.run.module):
        return
    if needs.found is None:
        yield _problem(needs, "its python does not start")
        return
    if needs.found.problem:
        why = f"it is not Python ({needs.found.problem})"
        yield Problem(path=("file",), given=needs.run.script, allowed=why, fix="fix that line")
    yield from _wrong_horovod(needs)
    if not needs.found.module:
        fix = "go to the folder that has it (for 'training' that of the project), or install it into the environment"
        given = f"python -m {needs.run.module}"
        yield Problem(path=("program",), given=given, allowed="Python does not find the module", fix=fix)
    elif not needs.found.horovod:
        yield _problem(needs, "its python does not find horovod, which the ranks import")


def _wrong_horovod(needs: _Needs) -> Problems:
    """Reject `hvd.callbacks` where hvd is `horovod.tensorflow`, as in tutorials: only its Keras module has them."""
    try:
        tree = ast.parse(Path(needs.run.script or os.devnull).read_bytes())
    except (OSError, SyntaxError, ValueError):
        # Another Python than this one may read it.
        return
    names: dict[str, set[str]] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Import | ast.ImportFrom):
            package = f"{each.module}." if isinstance(each, ast.ImportFrom) else ""
            for name in each.names:
                names.setdefault(name.asname or name.name, set()).add(f"{package}{name.name}")
    for each in ast.walk(tree):
        if isinstance(each, ast.Attribute) and each.attr == "callbacks" and isinstance(each.value, ast.Name):
            if names.get(each.value.id) == {"horovod.tensorflow"}:
                yield Problem(
                    path=("file",),
                    given=f"{each.value.id}.callbacks in line {each.lineno} of {needs.run.script}",
                    allowed="horovod.tensorflow has no callbacks",
                    fix=f"import horovod.tensorflow.keras as {each.value.id}, which has them",
                )
                return
