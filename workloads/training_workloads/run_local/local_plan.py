"""The command of this machine for an MPIJob: the launcher's own, with localhost for the workers; or that of a script.

Nothing else changes: the command does not wait for workers, the hostfile or the discovery script contains localhost,
each mounted claim is a local folder, no rank has a standard input, and the slots, the thread counts and the binding of
ranks to cores are those of this machine.
"""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training_workloads.jobs.rank_environment import DATA_THREADS, INTRAOP_THREADS
from training_workloads.manifests.documents import Document
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.launch_command import Launch, find_launch
from training_workloads.mpijob.launch_options import (
    BIND_TO,
    DISCOVERY_SCRIPT_OPTION,
    HOROVODRUN,
    MAP_BY,
    MAX_RANKS,
    MIN_RANKS,
    NETWORK_INTERFACE,
    RANKS,
    SLOTS_PER_HOST,
    TAG_OUTPUT,
    Option,
)
from training_workloads.mpijob.launcher_argv import DEFAULT_SLOTS, HOSTFILE, mpirun_command, unwrapped
from training_workloads.mpijob.view import MpiJobView
from training_workloads.recipes.scripts import script_program
from training_workloads.validation import MISSING, InputError, Problem, at_least, enforce

__all__ = [
    "LocalRun",
    "local_threads",
    "localized_path",
    "plan_local_run",
    "plan_script",
    "shown_name",
    "write_hosts",
]

# Other launchers of MPI do not know the options that are inserted here.
_LAUNCHERS = ("mpirun", HOROVODRUN)

# Thread counts that a job derives from its instance type.
_THREADS = (INTRAOP_THREADS, DATA_THREADS)

_DISCOVERY = "discover_hosts.sh"

# Letters of a longer program in the title of a run.
_PROGRAM_LETTERS = 100

# More than any machine starts: the hostfile and the tags of lines are made for this many.
_MOST_RANKS = 9999

# As in a pod, no rank has a standard input: by default Open MPI 5 gives rank 0 one that never ends.
_STDIN = Option("--stdin")
_NO_RANK = ("none",)

# Ranks of a script without `--ranks`.
_RANKS_OF_A_SCRIPT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRun:
    """The command of a run on this machine.

    Attributes:
        name: Name of the job, or the script.
        launcher: Name of the program that starts the ranks.
        command: The launcher's argv with local paths.
        environment: The launcher's variables, in addition to those of this process.
        ranks: Number of ranks.
        program: The program of each rank, with its arguments; empty if the command has unknown options.
        writes: Whether the job mounts a shared file system, where it writes.
        hides_traceback: Whether the launcher is torchrun itself, whose last lines are a traceback where a rank has
            failed: what the rank wrote and how it ended say more. The lines of its ranks have tags.
        private: Whether it gets a private network: the launcher and the ranks listen on all addresses, and trust every
            client. A script has that of this machine, to download its data.
    """

    name: str
    launcher: str
    command: tuple[str, ...]
    environment: dict[str, str]
    ranks: int
    program: tuple[str, ...]
    writes: bool = False
    hides_traceback: bool = False
    private: bool = False

    @property
    def module(self) -> str | None:
        """The Python module that each rank runs; `None` if it runs something else."""
        return self.program[2] if self.program[:2] == ("python", "-m") and len(self.program) > 2 else None

    @property
    def script(self) -> str | None:
        """The Python script that each rank runs; `None` if it runs something else."""
        is_script = self.program[:1] == ("python",) and len(self.program) > 1 and self.program[1].endswith(".py")
        return self.program[1] if is_script else None

    @property
    def title(self) -> str:
        """The job, its ranks and its program in one short line."""
        program = shlex.join(self.program)
        short = program if len(program) <= _PROGRAM_LETTERS else f"{program[:_PROGRAM_LETTERS]}…"
        ranks = f"{self.ranks} rank{'s' * (self.ranks != 1)}"
        return f"{self.name}: {ranks} of {short}" if short else f"{self.name}: {ranks}"


def plan_local_run(document: Document, volumes: Path, scratch: Path, ranks: int | None = None) -> LocalRun:
    """Return the command of this machine for a job's launcher, by default with as many ranks as its command has.

    Raises:
        InputError: The launcher does not run `mpirun -np N` or `horovodrun -np N`, or `ranks` is below 1.
    """
    job = MpiJobView(document=mapping(document.content))
    claims = job.worker.claim_mounts
    paths = {HOSTFILE: scratch / Path(HOSTFILE).name, **dict.fromkeys(claims, volumes)}
    # There are no workers to wait for, and to check.
    argv = unwrapped(job.launcher.first.argv)
    found = find_launch([localized_path(word, paths) for word in argv])
    if found is None or found[1].launcher not in _LAUNCHERS or (ranks is None and found[1].ranks is None):
        raise InputError(_cannot_start(document, job, argv, found[1].launcher if found else None))
    before, launch = found
    count = ranks if ranks is not None else launch.ranks or 0
    # All ranks are on this machine, however many a worker has.
    here = {**local_threads(count), DEFAULT_SLOTS: str(count)}
    variables = {name: value for name, (value, _) in job.launcher.first.environment.items() if value is not None}
    local = {name: localized_path(str(value), paths) for name, value in variables.items()}
    return LocalRun(
        name=shown_name(document),
        launcher=launch.launcher,
        command=before + _localized(launch, count, scratch / _DISCOVERY).words,
        environment={name: here.get(name, value) for name, value in local.items()},
        ranks=count,
        program=() if launch.unknown_options else launch.program,
        writes=bool(claims),
        private=True,
    )


def plan_script(script: str, arguments: Sequence[str], scratch: Path, ranks: int | None = None) -> LocalRun:
    """Return the command that runs a Python script as ranks, 2 by default, as a job would."""
    count = _RANKS_OF_A_SCRIPT if ranks is None else ranks
    threads = local_threads(count)
    program = (*script_program(script), *arguments)
    launcher, *options = mpirun_command(count, threads, program)[: -len(program)]
    hostfile = str(scratch / Path(HOSTFILE).name)
    local = [hostfile if word == HOSTFILE else word for word in options]
    return LocalRun(
        name=script,
        launcher=launcher,
        command=(launcher, *_STDIN.words(*_NO_RANK), *local, *program),
        environment=threads,
        ranks=count,
        program=program,
    )


def local_threads(ranks: int) -> dict[str, str]:
    """Return the thread counts of each rank: its share of the cores that this process may use."""
    enforce(ranks, [lambda number: at_least("ranks", number, 1, _MOST_RANKS)])
    return dict.fromkeys(_THREADS, str(max(1, len(os.sched_getaffinity(0)) // ranks)))


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
    launch = launch.with_option(MAP_BY, "slot").with_option(BIND_TO, "none").with_option(_STDIN, *_NO_RANK)
    # Each line begins with its rank. Open MPI 4 and 5 both accept this spelling without a warning.
    return launch.with_option(TAG_OUTPUT)


def localized_path(word: str, paths: dict[str, Path]) -> str:
    """Replace a container's path at the start of a word, or of an option's value, by the local one."""
    option, equals, value = word.rpartition("=")
    for path, local in paths.items():
        if value == path or value.startswith(f"{path}/"):
            return f"{option}{equals}{local}{value.removeprefix(path)}"
    return word


def write_hosts(scratch: Path, ranks: int) -> None:
    """Write the files that the operator gives a launcher: a hostfile, and for elastic jobs a script."""
    Path(scratch, Path(HOSTFILE).name).write_text(f"localhost slots={ranks}\n")
    script = scratch / _DISCOVERY
    script.write_text(f"#!/bin/sh\necho localhost:{ranks}\n")
    script.chmod(0o700)


def shown_name(document: Document) -> str:
    """Return the name of a job; that of its kind where it has none."""
    name = mapping(mapping(document.content).get("metadata")).get("name")
    return str(name) if name else "a job without a name"


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
