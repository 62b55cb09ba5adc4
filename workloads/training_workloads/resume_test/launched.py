"""A local run whose ranks write into pipes of this program, each by itself.

A launcher hands on whole lines, and so a progress bar only when the epoch is over.
"""

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory

from training_workloads.recipes.scripts import TORCHRUN
from training_workloads.run_local.local_plan import LocalRun, write_hosts
from training_workloads.run_local.runner import planned, run_planned
from training_workloads.validation import InputError

__all__ = ["Launch", "launch", "output_of", "process_of"]

# Each start would import this package again, which takes as long as to start a launcher.
_STARTER = multiprocessing.get_context("forkserver")
_STARTER.set_forkserver_preload([__name__])

# The shell becomes the program: the rank has the process, and the process number, that it has without it.
_REDIRECTED = 'rank=${OMPI_COMM_WORLD_RANK:-$RANK}; echo $$ >"$0/$rank.pid"; exec "$@" >"$0/$rank.output" 2>&1'


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """What is started, and where.

    Attributes:
        target: A script, or a job as `run-local` takes it.
        folder: The current folder.
        volumes: Folder in place of each mounted claim.
        environment: Virtual environment with the launcher and the program.
        ranks: Number of ranks.
        arguments: Those of a script.
    """

    target: str
    folder: Path
    volumes: Path
    environment: Path
    ranks: int
    arguments: Sequence[str]


def launch(wanted: Launch, pipes: Path, output: Connection) -> BaseProcess:
    """Start a run whose ranks write into pipes, and all else into the connection; return its process."""
    # A buffered line of a killed rank would be lost. The process that starts all has the variables of the first start.
    variables = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = _STARTER.Process(target=_run, args=(wanted, pipes, variables, output), daemon=True)
    process.start()
    return process


def output_of(rank: int, pipes: Path) -> Path:
    """Return the pipe of a rank."""
    return pipes / f"{rank}.output"


def process_of(rank: int, pipes: Path) -> int | None:
    """Return the process number of a rank; None where it has not started."""
    try:
        return int((pipes / f"{rank}.pid").read_text())
    except (FileNotFoundError, ValueError):
        return None


def _run(wanted: Launch, pipes: Path, variables: Mapping[str, str], output: Connection) -> None:
    for number in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(output.fileno(), number)
    output.close()
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(wanted.folder)
    with TemporaryDirectory(prefix="mpi-") as folder:
        scratch = Path(folder)
        code: int | str
        try:
            run, _, _ = planned(wanted.target, wanted.volumes, scratch, wanted.ranks, wanted.arguments)
            write_hosts(scratch, run.ranks)
            redirected = _redirected(run, pipes)
            code = run_planned(redirected, scratch, volumes=wanted.volumes, environment=wanted.environment)
        except InputError as error:
            code = f"error: {error}"
    sys.exit(code)


def _redirected(run: LocalRun, pipes: Path) -> LocalRun:
    """Return a run whose ranks write into their pipes, where the launcher starts a program as it is."""
    of_torch = run.launcher == TORCHRUN
    # It starts Python itself.
    starts_python = of_torch and "--no-python" not in run.command
    words = run.program[1:] if starts_python else run.program
    before = run.command[: len(run.command) - len(words)]
    is_plain = bool(words) and run.command[len(before) :] == words and "--run-path" not in before
    if not is_plain or not (of_torch or run.launcher == "mpirun"):
        return run
    shell = ("sh", "-c", _REDIRECTED, str(pipes))
    return replace(run, command=(*before, *(["--no-python"] * starts_python), *shell, *run.program))
