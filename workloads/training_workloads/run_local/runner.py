"""Runs an MPIJob's manifest on this machine: the launcher's own command, with localhost for the workers.

What changes on the way, and nothing else: nothing waits for workers, the hostfile or the discovery script names
localhost, each mounted claim is a local folder, thread counts and the binding of ranks to cores are those of this
machine.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training_workloads.jobs.rank_environment import DATA_THREADS, INTRAOP_THREADS
from training_workloads.mpijob.launch_command import HOSTFILE, WAIT_FOR_WORKERS
from training_workloads.run_local.launchers import Launcher, find_launcher
from training_workloads.run_local.manifest import claim_mounts, first_container, load_mpi_job, words
from training_workloads.run_local.supervisor import supervise
from training_workloads.validation import InputError, check_at_least

__all__ = ["LocalRun", "plan_local_run", "run_locally"]

# mpirun refuses root unless it is told twice that root is meant; as root in a container there is no other user.
_ROOT_IS_MEANT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")

# What the instance type decided about threads is decided by this machine here.
_THREADS = (INTRAOP_THREADS, DATA_THREADS)

_DISCOVERY = "discover_hosts.sh"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRun:
    """What is started on this machine for a manifest.

    Attributes:
        launcher: The program that starts the ranks.
        command: The launcher's argv with local paths.
        environment: The launcher's variables, on top of this process's own.
        ranks: How many ranks it starts.
        program: What each rank runs; None where the command does not tell.
        module: Which module, where that is Python with `-m`.
    """

    launcher: Launcher
    command: list[str]
    environment: dict[str, str]
    ranks: int
    program: str | None
    module: str | None


def plan_local_run(job: dict[str, Any], volumes: Path, scratch: Path, ranks: int | None = None) -> LocalRun:
    """Turns a job's launcher into a command for this machine.

    Args:
        job: The MPIJob.
        volumes: Local folder that stands for each mounted claim.
        scratch: Folder of the files that stand for the operator's.
        ranks: Number of ranks; default: that of the launcher's command.

    Raises:
        InputError: The launcher does not run `mpirun -np N` or `horovodrun -np N`, or `ranks` is below 1.
    """
    container = first_container(job, "Launcher")
    paths = {HOSTFILE: scratch / Path(HOSTFILE).name, **dict.fromkeys(claim_mounts(job), volumes)}
    given = words(container, "command") + words(container, "args")
    # There are no workers to wait for here.
    given = given[len(WAIT_FOR_WORKERS) :] if tuple(given[: len(WAIT_FOR_WORKERS)]) == WAIT_FOR_WORKERS else given
    command = [_localize(word, paths) for word in given]
    position, launcher = find_launcher(command)
    before, started = command[:position], command[position:]
    if ranks is None:
        ranks = launcher.ranks_of(started)
    check_at_least("--ranks", ranks, 1)
    variables = {entry["name"]: _localize(entry.get("value", ""), paths) for entry in container.get("env", [])}
    share = str(max(1, (os.cpu_count() or 1) // ranks))
    return LocalRun(
        launcher=launcher,
        command=before + launcher.localized(started, ranks=ranks, discovery=scratch / _DISCOVERY),
        environment={name: share if name in _THREADS else value for name, value in variables.items()},
        ranks=ranks,
        program=launcher.program_of(started),
        module=_module(started, launcher.program_of(started)),
    )


def run_locally(manifest: Path, *, volumes: Path, environment: Path, ranks: int | None = None) -> int:
    """Runs the job of a manifest to its end; each rank's lines have its number in front.

    Args:
        manifest: File with one MPIJob.
        volumes: Local folder that stands for each mounted claim.
        environment: Virtual environment with the launcher's and the job's programs.
        ranks: Number of ranks; default: that of the launcher's command.

    Returns:
        The launcher's exit code, 128 more than the signal where it died of one or where a signal ended this program.

    Raises:
        InputError: The manifest or a value is not right, or a program is missing.
    """
    job = load_mpi_job(manifest)
    with tempfile.TemporaryDirectory(prefix="mpi-") as folder:
        scratch = Path(folder)
        run = plan_local_run(job, volumes.absolute(), scratch, ranks)
        _write_hosts(scratch, run.ranks)
        variables = _process_environment(environment, run)
        _check_programs(run, environment, variables["PATH"])
        print(f"running {' '.join(run.command)}", flush=True)
        ending = supervise(run.command, variables, name=run.launcher.name)
        if ending.reason:
            print(f"run-local: {ending.reason}", file=sys.stderr)
        return ending.code


def _module(command: list[str], program: str | None) -> str | None:
    if program != "python":
        return None
    words = command[command.index(program) + 1 :]
    return words[1] if words[:1] == ["-m"] and len(words) > 1 else None


def _write_hosts(scratch: Path, ranks: int) -> None:
    """What the operator gives a launcher: a hostfile, and for elastic jobs a script."""
    Path(scratch, Path(HOSTFILE).name).write_text(f"localhost slots={ranks}\n")
    script = scratch / _DISCOVERY
    script.write_text(f"#!/bin/sh\necho localhost:{ranks}\n")
    script.chmod(0o700)


def _check_programs(run: LocalRun, environment: Path, path: str) -> None:
    if not (environment / "bin").is_dir():
        raise InputError(
            f"'--environment' is {str(environment)!r}, which has no 'bin'; run 'make setup' where the project is, or "
            "give the virtual environment with the job's programs"
        )
    if not shutil.which(run.launcher.name, path=path):
        raise InputError(f"{run.launcher.name!r} is not in '{environment}/bin' or on PATH; run 'make setup' first")
    if run.program and not shutil.which(run.program, path=path):
        raise InputError(
            f"each rank runs {run.program!r}, which is not in '{environment}/bin' or on PATH; a program that only the "
            "image has, such as an NCCL test, runs on a cluster only: submit the job there"
        )
    if run.module and not _finds(run.module, path):
        raise InputError(
            f"each rank runs 'python -m {run.module}', which is not here; go to the folder that has it (for 'training' "
            "that of the project), or install it into the virtual environment"
        )


def _finds(module: str, path: str) -> bool:
    """Whether Python finds the package of a module, in this folder or among what is installed."""
    package = module.partition(".")[0]
    program = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    python = shutil.which("python", path=path)
    return python is None or subprocess.run([python, "-c", program], capture_output=True, check=False).returncode == 0


def _localize(word: str, paths: dict[str, Path]) -> str:
    """Replaces a container's path at the start of a word, or of an option's value, by the local one."""
    option, equals, value = word.rpartition("=")
    for path, local in paths.items():
        if value == path or value.startswith(f"{path}/"):
            return f"{option}{equals}{local}{value.removeprefix(path)}"
    return word


def _process_environment(venv: Path, run: LocalRun) -> dict[str, str]:
    programs = {"PATH": f"{venv.absolute() / 'bin'}:{os.environ['PATH']}"}
    libraries = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    root = dict.fromkeys(_ROOT_IS_MEANT, "1") if os.geteuid() == 0 else {}
    return {**os.environ, **programs, **libraries, **root, **run.environment}
