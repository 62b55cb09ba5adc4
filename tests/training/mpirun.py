"""Ranks under mpirun, for the tests and the fault suite."""

import dataclasses
import os
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]

#: For any wait, in seconds: a run takes half a minute on two idle cores, and the machine may be busy.
PATIENCE = 600.0

# mpirun starts ranks as root only with these variables.
_ALLOW_ROOT = {f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")}

# Where Open MPI 5 and 4 keep the files of a run.
_FILES = ("TMPDIR", "OMPI_MCA_btl_sm_backing_directory", "OMPI_MCA_btl_vader_backing_directory")


@dataclasses.dataclass(frozen=True)
class Run:
    """A finished or killed run."""

    code: int
    stdout: str
    stderr: str
    output: Path


def mpirun(ranks: int) -> list[str]:
    """Return the command that starts this number of Python ranks."""
    # The environment's own mpirun goes first: Horovod is compiled against it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which("mpirun", path=path)
    assert program, "mpirun is missing: run `make setup`"
    placement = ["--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"]
    # As in the jobs: plain TCP and shared memory. Others, such as UCX, print errors where there is no /sys.
    transport = ["--mca", "pml", "ob1", "--mca", "btl", "^openib"]
    # A rank that waits gives way: otherwise it takes the cores of those that it waits for.
    waiting = ["--mca", "mpi_yield_when_idle", "1"]
    return [program, "-np", str(ranks), *placement, *transport, *waiting, sys.executable]


def free_ports(count: int) -> int:
    """Return the first of some ports in a row that no program has."""
    # Apart from those of pytest's other worker, whose process has the next number: it may not have opened its own yet.
    for first in range(20000 + os.getpid() % 1000 * 10, 32000, count):
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.socket()).bind(("", port))
            except OSError:
                continue
            return first
    raise AssertionError("no port is free")


def mpirun_variables(folder: Path) -> dict[str, str]:
    """Return the variables that every mpirun of a test needs, among them a folder for its session and shared memory.

    Without them both are in folders of the machine, with names that follow from mpirun's process number. An mpirun with
    the number of a killed one finds its session folder and does not start (PMIx's listener). The name of the shared
    memory has only 16 bits of a hash of the number: two runs at a time with the same bits hang (derived).
    """
    folder.mkdir(parents=True, exist_ok=True)
    return {**_ALLOW_ROOT, **dict.fromkeys(_FILES, str(folder))}


def start(ranks: int, arguments: list[str], folder: Path) -> "subprocess.Popen[str]":
    """Start ranks, with their output in files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
        return subprocess.Popen(
            [*mpirun(ranks), *arguments],
            cwd=ROOT,
            env=os.environ | mpirun_variables(folder / "mpi"),
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )


def end(process: "subprocess.Popen[str]") -> None:
    """Kill mpirun and its ranks, each of which is in another process group."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    for kill in (process.kill, *(member.kill for member in family)):
        try:
            kill()
        except psutil.NoSuchProcess:
            pass
    psutil.wait_procs(family, timeout=10)
