"""Run an MPIJob's manifest on this machine: the launcher's own command, with localhost for the workers.

Nothing else changes: the command does not wait for workers, the hostfile or the discovery script contains localhost,
each mounted claim is a local folder, and the thread counts and the binding of ranks to cores are those of this machine.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from training_workloads.jobs.rank_environment import DATA_THREADS, INTRAOP_THREADS
from training_workloads.mpijob.documents import STANDARD_INPUT, Document, read_manifests
from training_workloads.mpijob.launch_command import HOROVODRUN, HOSTFILE, WAIT_FOR_WORKERS, Launch, find_launch
from training_workloads.mpijob.launch_options import (
    BIND_TO,
    DISCOVERY_SCRIPT_OPTION,
    MAP_BY,
    MAX_RANKS,
    MIN_RANKS,
    NETWORK_INTERFACE,
    RANKS,
    SLOTS_PER_HOST,
    TAG_OUTPUT,
)
from training_workloads.mpijob.spec import KIND
from training_workloads.mpijob.view import MpiJobView, mapping
from training_workloads.run_local.supervisor import supervise
from training_workloads.validation import MISSING, InputError, Problem, Problems, at_least, enforce

__all__ = ["LocalRun", "plan_local_run", "read_mpi_job", "run_locally"]

# Other launchers of MPI do not know the options that are inserted here.
_LAUNCHERS = ("mpirun", HOROVODRUN)

# mpirun does not run as root without both; root in a container is often the only user.
_ALLOW_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")

# Thread counts that a job derives from its instance type.
_THREADS = (INTRAOP_THREADS, DATA_THREADS)

_DISCOVERY = "discover_hosts.sh"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRun:
    """What to start on this machine for a manifest.

    Attributes:
        launcher: Name of the program that starts the ranks.
        command: The launcher's argv with local paths.
        environment: The launcher's variables, in addition to those of this process.
        ranks: Number of ranks.
        program: What each rank runs, with its arguments; empty if the command has unknown options.
    """

    launcher: str
    command: tuple[str, ...]
    environment: dict[str, str]
    ranks: int
    program: tuple[str, ...]

    @property
    def module(self) -> str | None:
        """The Python module that each rank runs; `None` if it runs something else."""
        return self.program[2] if self.program[:2] == ("python", "-m") and len(self.program) > 2 else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Programs:
    """What a run needs, and where it is."""

    run: LocalRun
    environment: Path
    path: str


def run_locally(file: str | Path, *, volumes: Path, environment: Path, ranks: int | None = None) -> int:
    """Run the job of a manifest to its end, with each rank's number in front of its lines.

    Args:
        file: A manifest with one MPIJob.
        volumes: Local folder in place of each mounted claim.
        environment: Virtual environment with the programs of the launcher and the ranks.
        ranks: Number of ranks. Default: that of the launcher's command.

    Returns:
        The launcher's exit code; 128 plus the number of the signal if a signal ended the launcher or this program.

    Raises:
        InputError: The manifest or an argument has a problem, or a program is missing.
    """
    document = read_mpi_job(file)
    with tempfile.TemporaryDirectory(prefix="mpi-") as folder:
        scratch = Path(folder)
        run = plan_local_run(document, volumes.absolute(), scratch, ranks)
        _write_hosts(scratch, run.ranks)
        variables = _process_environment(environment, run)
        programs = _Programs(run=run, environment=environment, path=variables["PATH"])
        enforce(programs, [_environment_has_programs])
        enforce(programs, [_launcher_exists, _program_exists, _module_exists])
        print(f"running {' '.join(run.command)}", flush=True)
        ending = supervise(run.command, variables, name=run.launcher)
        if ending.reason:
            print(f"run-local: {ending.reason}", file=sys.stderr)
        return ending.code


def read_mpi_job(file: str | Path) -> Document:
    """Return the one MPIJob of a manifest; other objects in it are ignored.

    Raises:
        InputError: The file cannot be read, or does not have exactly one MPIJob.
    """
    enforce(str(file), [_file_exists])
    read, problems = read_manifests([file])
    if problems:
        raise InputError(*problems)
    kinds = [(mapping(document.content).get("kind"), document) for _, documents in read for document in documents]
    jobs = [document for kind, document in kinds if kind == KIND]
    if len(jobs) == 1:
        return jobs[0]
    found = ", ".join(str(kind) for kind, _ in kinds if kind) or "nothing"
    allowed = f"it contains {found}, and only the launcher of one {KIND} can run here"
    raise InputError(
        Problem(path=("file",), given=str(file), allowed=allowed, fix=f"give a file with exactly one {KIND}")
    )


def plan_local_run(document: Document, volumes: Path, scratch: Path, ranks: int | None = None) -> LocalRun:
    """Return the command of this machine for a job's launcher.

    Args:
        document: The MPIJob.
        volumes: Local folder in place of each mounted claim.
        scratch: Folder for the files that the operator would create.
        ranks: Number of ranks. Default: that of the launcher's command.

    Raises:
        InputError: The launcher does not run `mpirun -np N` or `horovodrun -np N`, or `ranks` is below 1.
    """
    job = MpiJobView(document=mapping(document.content))
    paths = {HOSTFILE: scratch / Path(HOSTFILE).name, **dict.fromkeys(job.worker.claim_mounts, volumes)}
    argv = job.launcher.first.argv
    # There are no workers to wait for.
    argv = argv[len(WAIT_FOR_WORKERS) :] if tuple(argv[: len(WAIT_FOR_WORKERS)]) == WAIT_FOR_WORKERS else argv
    found = find_launch([_localized_path(word, paths) for word in argv])
    if found is None or found[1].launcher not in _LAUNCHERS or (ranks is None and found[1].ranks is None):
        raise InputError(_cannot_start(document, job, argv, found[1].launcher if found else None))
    before, launch = found
    count = ranks if ranks is not None else launch.ranks or 0
    enforce(count, [lambda number: at_least("ranks", number, 1)])
    share = str(max(1, (os.cpu_count() or 1) // count))
    variables = {name: value for name, (value, _) in job.launcher.first.environment.items() if value is not None}
    local = {name: _localized_path(str(value), paths) for name, value in variables.items()}
    return LocalRun(
        launcher=launch.launcher,
        command=before + _localized(launch, count, scratch / _DISCOVERY).words,
        environment={name: share if name in _THREADS else value for name, value in local.items()},
        ranks=count,
        program=() if launch.unknown_options else launch.program,
    )


def _localized(launch: Launch, ranks: int, discovery: Path) -> Launch:
    """Return a launch with the settings of this machine, in place of those of the instance type."""
    launch = launch.with_option(RANKS, ranks)
    if launch.is_horovod:
        for option in (MIN_RANKS, MAX_RANKS, SLOTS_PER_HOST):
            launch = launch.with_option(option, ranks, insert=False)
        launch = launch.with_option(DISCOVERY_SCRIPT_OPTION, discovery, insert=False)
        # Otherwise an elastic job waits for a second host, to find an interface that both have.
        return launch.with_option(NETWORK_INTERFACE, "lo")
    # All ranks share the cores of this machine, however many ranks there are.
    launch = launch.with_option(MAP_BY, "slot").with_option(BIND_TO, "none")
    # Each line begins with its rank. Open MPI 4 and 5 both accept this spelling without a warning.
    return launch.with_option(TAG_OUTPUT)


def _localized_path(word: str, paths: dict[str, Path]) -> str:
    """Replace a container's path at the start of a word, or of an option's value, by the local one."""
    option, equals, value = word.rpartition("=")
    for path, local in paths.items():
        if value == path or value.startswith(f"{path}/"):
            return f"{option}{equals}{local}{value.removeprefix(path)}"
    return word


def _write_hosts(scratch: Path, ranks: int) -> None:
    """Write what the operator gives a launcher: a hostfile, and for elastic jobs a script."""
    Path(scratch, Path(HOSTFILE).name).write_text(f"localhost slots={ranks}\n")
    script = scratch / _DISCOVERY
    script.write_text(f"#!/bin/sh\necho localhost:{ranks}\n")
    script.chmod(0o700)


def _process_environment(venv: Path, run: LocalRun) -> dict[str, str]:
    programs = {"PATH": f"{venv.absolute() / 'bin'}:{os.environ['PATH']}"}
    libraries = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    root = dict.fromkeys(_ALLOW_ROOT, "1") if os.geteuid() == 0 else {}
    return {**os.environ, **programs, **libraries, **root, **run.environment}


def _file_exists(file: str) -> Problems:
    if file != STANDARD_INPUT and not Path(file).exists():
        rendered = sorted(map(str, Path(file).parent.glob("*.k8s.yaml")))
        fix = "render manifests with 'trainctl render'" + f", or give one of {', '.join(rendered)}" * bool(rendered)
        yield Problem(path=("file",), given=file, allowed="it does not exist", fix=fix)


def _cannot_start(document: Document, job: MpiJobView, argv: list[str], launcher: str | None) -> Problem:
    names = (launcher,) if launcher in _LAUNCHERS else _LAUNCHERS
    path = job.launcher.first.argv_path()
    wanted = " or ".join(f"'{name} -np <ranks> …'" for name in names)
    return Problem(
        path=path,
        given=" ".join(argv) or job.launcher.first.content.get("command", MISSING),
        allowed="a local run needs a list of words with a launcher and its number of ranks",
        fix=f"start the ranks with {wanted}",
        source=document.where(path),
    )


def _environment_has_programs(programs: _Programs) -> Problems:
    if not (programs.environment / "bin").is_dir():
        fix = "run 'make setup' in the project's folder, or give the virtual environment with the job's programs"
        yield Problem(path=("environment",), given=str(programs.environment), allowed="it has no 'bin'", fix=fix)


def _launcher_exists(programs: _Programs) -> Problems:
    yield from _missing("launcher", programs.run.launcher, programs, fix="run 'make setup'")


def _program_exists(programs: _Programs) -> Problems:
    fix = "submit the job to a cluster if only the image has this program, such as an NCCL test"
    for program in programs.run.program[:1]:
        yield from _missing("program", program, programs, fix=fix)


def _missing(role: str, program: str, programs: _Programs, *, fix: str) -> Problems:
    if not shutil.which(program, path=programs.path):
        allowed = f"it is not in '{programs.environment}/bin' or on PATH"
        yield Problem(path=(role,), given=program, allowed=allowed, fix=fix)


def _module_exists(programs: _Programs) -> Problems:
    if programs.run.module and not _finds(programs.run.module, programs.path):
        fix = "go to the folder that has it (for 'training' that of the project), or install it into the environment"
        given = f"python -m {programs.run.module}"
        yield Problem(path=("program",), given=given, allowed="Python does not find the module", fix=fix)


def _finds(module: str, path: str) -> bool:
    """Return whether Python finds the package of a module, in this folder or among the installed ones."""
    package = module.partition(".")[0]
    program = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    python = shutil.which("python", path=path)
    return python is None or subprocess.run([python, "-c", program], capture_output=True, check=False).returncode == 0
