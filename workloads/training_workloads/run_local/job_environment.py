"""The environment of a local run: what its ranks need, found before they start, so that each does not fail alone."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from training_workloads.run_local.local_plan import LocalRun
from training_workloads.validation import Problem, Problems, enforce

__all__ = ["check_environment"]

_FIX = "create it ('make setup', or as README.md of your project says), or give the one with the job's programs"

# The environment's own Python reads the script. It only looks for packages: to import TensorFlow takes seconds.
_FIND = """
import ast, importlib.util, json, os, sys
script, *names = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(script)) if script else ""
problem = ""
if script:
    try:
        body = ast.parse(open(script, "rb").read()).body
    except (SyntaxError, ValueError) as error:
        body, problem = [], "line %s: %s" % (getattr(error, "lineno", None) or 1, getattr(error, "msg", error))
    # Not those in a `try` or a function: the script may do without them.
    names += [each.name for found in body if isinstance(found, ast.Import) for each in found.names]
    names += [found.module for found in body if isinstance(found, ast.ImportFrom) and not found.level]
packages = list(dict.fromkeys(name.partition(".")[0] for name in names))
missing = [name for name in packages if name != "__main__" and importlib.util.find_spec(name) is None]
print(json.dumps([problem, missing]))
"""


@dataclass(frozen=True, kw_only=True)
class _Needs:
    """What a run needs, and where it is looked for.

    Attributes:
        run: The run.
        environment: The virtual environment, as the user gave it.
        path: The `PATH` of the run.
    """

    run: LocalRun
    environment: Path
    path: str

    @property
    def package(self) -> str:
        """The package of the module that each rank runs; empty if it runs something else."""
        return (self.run.module or "").partition(".")[0]

    @cached_property
    def found(self) -> tuple[str, list[str]] | None:
        """What is wrong with the script, and the packages that Python does not find; None if Python does not start."""
        names = [self.package, *(["horovod"] if self.run.is_horovod else [])] if self.package else []
        command = [str(shutil.which("python", path=self.path)), "-c", _FIND, self.run.script or "", *names]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            problem, missing = json.loads(answer)
        except (OSError, subprocess.CalledProcessError, ValueError):
            return None
        return str(problem), list(missing)


def check_environment(run: LocalRun, environment: Path, path: str) -> None:
    """Check that the launcher, the program of the ranks and what it imports are there.

    Args:
        run: The run.
        environment: The virtual environment.
        path: The `PATH` of the run.

    Raises:
        InputError: Something is missing.
    """
    needs = _Needs(run=run, environment=environment, path=path)
    enforce(needs, [_has_programs])
    enforce(needs, [_has_launcher, _has_program, _has_script])
    enforce(needs, [_has_packages])


def _problem(needs: _Needs, allowed: str) -> Problem:
    return Problem(path=("environment",), given=str(needs.environment), allowed=allowed, fix=_FIX)


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
    if script and not Path(script).is_file():
        fix = "go to the folder that has it"
        yield Problem(path=("program",), given=f"python {script}", allowed="there is no such file", fix=fix)


def _has_packages(needs: _Needs) -> Problems:
    if needs.run.script is None and not needs.package:
        return
    if needs.found is None:
        yield _problem(needs, "its python does not start")
        return
    wrong, missing = needs.found
    if wrong:
        yield Problem(
            path=("file",), given=needs.run.script, allowed=f"it is not Python ({wrong})", fix="fix that line"
        )
    if needs.package in missing:
        fix = "go to the folder that has it (for 'training' that of the project), or install it into the environment"
        given = f"python -m {needs.run.module}"
        yield Problem(path=("program",), given=given, allowed="Python does not find the module", fix=fix)
    elif missing:
        yield _problem(needs, f"its python does not find {', '.join(missing)}, which the ranks import")
