"""Python scripts as programs of a job: how the ranks run one, which launcher starts them, and its job."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from training_workloads.mpijob.programs import python_module
from training_workloads.validation import MISSING, InputError, Problem, Problems, check, one_of

if TYPE_CHECKING:
    from training_workloads.jobs.kinds import JobSpec

__all__ = [
    "LAUNCHERS",
    "MPIRUN",
    "TORCHRUN",
    "chosen_launcher",
    "is_script",
    "script_job",
    "script_program",
    "with_arguments",
]

MPIRUN: Final = "mpirun"
TORCHRUN: Final = "torchrun"

#: The programs that start the ranks of a script.
LAUNCHERS: Final = (TORCHRUN, MPIRUN)

_SUFFIX = ".py"

# What a script of torchrun's ranks imports, and what it imports where MPI starts them.
_OF_TORCH = {"torch", "accelerate", "lightning", "pytorch_lightning", "transformers"}
_OF_MPI = {"horovod", "mpi4py", "tensorflow", "keras"}


def is_script(name: str) -> bool:
    """Return whether a name is that of an existing Python script."""
    return Path(name).suffix == _SUFFIX and Path(name).is_file()


def chosen_launcher(script: str, given: str | None = None) -> str:
    """Return the launcher that the user gave; else that which the script's imports ask for, by default `mpirun`.

    Raises:
        InputError: There is no such launcher.
    """
    if given is not None:
        check(one_of("launcher", given, LAUNCHERS))
        return given
    imported = {name.partition(".")[0] for name in _imported(script)}
    return TORCHRUN if imported & _OF_TORCH and not imported & _OF_MPI else MPIRUN


def script_program(script: str) -> tuple[str, ...]:
    """Return the program of each rank: the script; for a file of a package that imports from it, its module."""
    path = Path(script)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    folders = path.parent.parts
    # Python then searches the current folder: one that imports its neighbors as a script does not find them.
    packages = [Path(*folders[:end], "__init__.py") for end in range(1, len(folders) + 1)]
    is_in_package = bool(packages) and all(map(Path.is_file, packages))
    if not is_in_package or folders[0] not in {name.partition(".")[0] for name in _imported(script)}:
        return ("python", script)
    return python_module(".".join(folders if path.stem == "__main__" else (*folders, path.stem)))


def _imported(script: str) -> set[str]:
    """Return the modules that a script imports; relative ones by the name of the outermost folder."""
    try:
        tree = ast.parse(Path(script).read_bytes())
    except (OSError, SyntaxError, ValueError):
        # The run itself says what is wrong with it.
        return set()
    names = {each.name for found in ast.walk(tree) if isinstance(found, ast.Import) for each in found.names}
    for found in ast.walk(tree):
        if isinstance(found, ast.ImportFrom):
            names.add(Path(script).parts[0] if found.level else found.module or "")
    return names


def script_job(
    script: str,
    name: str | None,
    image: str,
    *,
    launcher: str | None = None,
    scheduling: Mapping[str, Any] | None = None,
    **given: Any,
) -> "JobSpec":
    """Return the job of a script: an MPIJob, or a job of torchrun.

    Args:
        script: Path of the script in the current folder, which the image has as its working directory.
        name: Name of the job. Default: from the script's.
        image: The image, unless a field gives another one.
        launcher: `torchrun` or `mpirun`. Default: by the script's imports.
        scheduling: Fields of its `Scheduling`.
        given: Fields of the job; `instance_type` and `workers` have no default.

    Raises:
        InputError: A field is missing, the job does not have it, or a value is not allowed.
    """
    # Here, because pydantic takes time to import.
    from training_workloads.jobs.horovod_job import HorovodJobSpec
    from training_workloads.jobs.scheduling import Scheduling
    from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec

    kind = TorchElasticJobSpec if chosen_launcher(script, launcher) == TORCHRUN else HorovodJobSpec
    check(_in_this_folder(script), _complete(script, given), _own_fields(script, kind, given))
    placed = Scheduling(**(scheduling or {}))
    program = script_program(script)
    values = {"image": image, "command": program, "scheduling": placed, **given}
    return kind(name=_job_name(script) if name is None else name, **values)


def _job_name(script: str) -> str:
    path = Path(script)
    words: Sequence[str] = path.parent.parts if path.stem == "__main__" else (path.stem,)
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


def _in_this_folder(script: str) -> Problems:
    path = Path(script)
    if path.is_absolute() or ".." in path.parts:
        allowed = "the image has the files of the current folder"
        fix = f"go to its folder, and give '{path.name}'"
        yield Problem(path=("recipe",), given=script, allowed=allowed, fix=fix)


def _complete(script: str, given: Mapping[str, Any]) -> Problems:
    fixes = {
        "instance_type": "give the EC2 type of its nodes, such as p4d.24xlarge ('trainctl offers' lists them)",
        "workers": "give the number of its nodes, such as 2",
    }
    for field, fix in fixes.items():
        if field not in given:
            yield Problem(path=(field,), given=MISSING, allowed=f"the job of {script} needs it", fix=fix)


def _own_fields(script: str, kind: Any, given: Mapping[str, Any]) -> Problems:
    for field in sorted(set(given) - set(kind.model_fields)):
        allowed = f"the job of {script} does not have it"
        fix = "give 'workers'" if field == "nodes" else "omit it"
        yield Problem(path=(field,), given=given[field], allowed=allowed, fix=fix)


def with_arguments(spec: "JobSpec", arguments: Sequence[str]) -> "JobSpec":
    """Return a job whose program has further arguments; of an option that is repeated, programs take the last value.

    Raises:
        InputError: The job has no program that takes some.
    """
    if not arguments:
        return spec
    command = getattr(spec, "command", None)
    if not command:
        allowed = f"the job {spec.name} has no program that takes arguments"
        fix = "omit it; 'trainctl render --help' lists the options of a job"
        raise InputError(Problem(path=("arguments",), given=arguments[0], allowed=allowed, fix=fix))
    return spec.replaced(command=(*command, *arguments))
