"""Runs an MPIJob's manifest on this machine: the launcher's own command, with localhost for the workers.

What changes on the way, and nothing else: the hostfile names localhost, each mounted claim is a local folder, and the
thread counts are those of this machine.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from training_workloads.errors import InputError, check_at_least
from training_workloads.jobs.launcher import HOSTFILE
from training_workloads.jobs.mpi_job import KIND

__all__ = ["LocalRun", "load_mpi_job", "run_locally"]

# mpirun refuses root unless it is told twice that root is meant; as root in a container there is no other user.
_ROOT_IS_MEANT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")

# What the instance type decided about threads is decided by this machine here.
_THREADS = "TF_NUM_INTRAOP_THREADS"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRun:
    """What is started on this machine for a manifest.

    Attributes:
        command: The launcher's argv with local paths.
        environment: The launcher's variables, on top of this process's own.
        ranks: How many ranks `mpirun` starts.
    """

    command: list[str]
    environment: dict[str, str]
    ranks: int


def load_mpi_job(path: Path) -> dict[str, Any]:
    """Reads the one MPIJob of a manifest file.

    Raises:
        InputError: There is no such file, it is no YAML, or it does not hold exactly one MPIJob.
    """
    if not path.is_file():
        rendered = ", ".join(map(str, sorted(path.parent.glob("*.k8s.yaml")))) or "none yet"
        raise InputError(
            f"'manifest' is {str(path)!r}, which is not a file; 'make jobs' renders them, so far: {rendered}"
        )
    try:
        documents = [document for document in yaml.safe_load_all(path.read_text()) if isinstance(document, dict)]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"'manifest' is {str(path)!r}, which is not YAML: {error}") from error
    jobs = [document for document in documents if document.get("kind") == KIND]
    if len(jobs) != 1:
        found = ", ".join(str(document.get("kind")) for document in documents) or "nothing"
        raise InputError(f"'manifest' is {str(path)!r}, which holds {found}; give a file with exactly one {KIND}")
    return jobs[0]


def plan_local_run(job: dict[str, Any], volumes: Path, hostfile: Path, ranks: int | None = None) -> LocalRun:
    """Turns a job's launcher into a command for this machine.

    Args:
        job: The MPIJob.
        volumes: Local folder that stands for each mounted claim.
        hostfile: Path of the hostfile that stands for the operator's.
        ranks: Number of ranks; default: that of the launcher's command.

    Raises:
        InputError: The launcher does not run `mpirun -np N`, or `ranks` is below 1.
    """
    launcher = _container(job, "Launcher")
    command = _words(launcher, "command") + _words(launcher, "args")
    position = _position_of_world_size(command)
    if ranks is None:
        ranks = int(command[position])
    check_at_least("--ranks", ranks, 1)
    command[position] = str(ranks)
    paths = {HOSTFILE: hostfile, **dict.fromkeys(_claim_mounts(job), volumes)}
    variables = {entry["name"]: _localize(entry.get("value", ""), paths) for entry in launcher.get("env", [])}
    if _THREADS in variables:
        variables[_THREADS] = str(max(1, (os.cpu_count() or 1) // ranks))
    return LocalRun(
        command=[_localize(word, paths) for word in command],
        environment=variables,
        ranks=ranks,
    )


def run_locally(manifest: Path, *, volumes: Path, environment: Path, ranks: int | None = None) -> int:
    """Runs the job of a manifest to its end, its output on this process's own.

    Args:
        manifest: File with one MPIJob.
        volumes: Local folder that stands for each mounted claim.
        environment: Virtual environment with `mpirun`'s and the job's programs.
        ranks: Number of ranks; default: that of the launcher's command.

    Returns:
        The launcher's exit code.

    Raises:
        InputError: The manifest or a value is not right, or a program is missing.
    """
    job = load_mpi_job(manifest)
    with tempfile.TemporaryDirectory(prefix="mpi-") as scratch:
        hostfile = Path(scratch, "hostfile")
        run = plan_local_run(job, volumes.absolute(), hostfile, ranks)
        hostfile.write_text(f"localhost slots={run.ranks}\n")
        variables = _process_environment(environment, run)
        if not shutil.which(run.command[0], path=variables["PATH"]):
            raise InputError(f"{run.command[0]!r} is not in '{environment}/bin' or on PATH; run 'make setup' first")
        print(f"running {' '.join(run.command)}", flush=True)
        return _run_group(run.command, variables)


def _container(job: dict[str, Any], role: str) -> dict[str, Any]:
    """The container that the operator would use: the first."""
    try:
        container = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0]
    except (KeyError, IndexError, TypeError) as error:
        path = f"spec.mpiReplicaSpecs.{role}.template.spec.containers[0]"
        raise InputError(f"the manifest has no '{path}'; render it again, or compare it with one that is") from error
    return dict(container)


def _words(container: dict[str, Any], field: str) -> list[str]:
    words = container.get(field) or []
    if not isinstance(words, list):
        raise InputError(f"the launcher's '{field}' is {words!r}; write a list of words")
    return [str(word) for word in words]


def _position_of_world_size(command: list[str]) -> int:
    for position, (flag, value) in enumerate(pairwise(command)):
        if flag in ("-np", "-n") and value.isdigit():
            return position + 1
    given = " ".join(command) or "empty"
    raise InputError(f"the launcher's command is {given!r}; a local run needs 'mpirun -np <ranks> …'")


def _claim_mounts(job: dict[str, Any]) -> list[str]:
    mounts = _container(job, "Worker").get("volumeMounts", [])
    volumes = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"].get("volumes", [])
    claims = {volume["name"] for volume in volumes if "persistentVolumeClaim" in volume}
    return [mount["mountPath"] for mount in mounts if mount["name"] in claims]


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


def _run_group(command: list[str], environment: dict[str, str]) -> int:
    """Runs a command as a process group of its own, and ends the whole group on Ctrl-C or SIGTERM."""
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return process.wait()
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        return 128 + signal.SIGINT
    finally:
        signal.signal(signal.SIGTERM, previous)
