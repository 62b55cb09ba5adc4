"""The program that every command belongs to, its exit codes, and how it prints problems with what the user typed."""

import errno
import os
import sys
from importlib.metadata import entry_points
from itertools import product
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperGroup

from training_workloads.mpijob.programs import USER_ERROR
from training_workloads.validation import InputError, Problem

__all__ = [
    "CLUSTER_FAILED",
    "INTERRUPTED",
    "JOBS_HERE",
    "JOBS_ON_A_CLUSTER",
    "JOB_FAILED",
    "LINT_ERRORS",
    "OUTPUT_FAILED",
    "TIMED_OUT",
    "Program",
    "TopLevel",
    "app",
    "error_line",
    "output_folder",
    "run",
]

# `mpijob.programs` has the codes that a job's programs share with this one: USER_ERROR (2) and STOPPED (75).

#: The job ended without success, or was deleted before its end.
JOB_FAILED = 1

#: A manifest has an error.
LINT_ERRORS = 1

#: The cluster cannot be reached, or rejected a request.
CLUSTER_FAILED = 3

#: The time that the user gave, or that pods have to end, is over.
TIMED_OUT = 4

#: The output cannot be written, such as on a full disk: EX_IOERR of sysexits.h.
OUTPUT_FAILED = 74

#: Ctrl-C, in the convention of shells: 128 + SIGINT.
INTERRUPTED = 130

_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

#: The groups of commands in `--help`.
JOBS_HERE: Final = "Jobs, on this machine"
JOBS_ON_A_CLUSTER: Final = "Jobs, on the cluster of your kubeconfig"

# Groups of commands, each a `typer.Typer`, that a package adds in its pyproject.toml.
_ENTRY_POINTS: Final = "trainctl.commands"


class Program(TyperGroup):
    """The commands; a problem with an option or a file is one line on standard error and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the user typed."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            for problem in error.problems:
                print(error_line(problem, command), file=sys.stderr)
            sys.exit(USER_ERROR)


class TopLevel(Program):
    """The commands for jobs, and the groups that packages add by an entry point; these are imported on use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands and of the groups."""
        return [*super().list_commands(ctx), *sorted(entry_points(group=_ENTRY_POINTS).names)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command or a group; `None` if there is none with this name."""
        if command := super().get_command(ctx, cmd_name):
            return command
        for found in entry_points(group=_ENTRY_POINTS, name=cmd_name):
            group = typer.main.get_command(found.load())
            group.name = cmd_name
            return group
        return None


app = typer.Typer(
    name="trainctl",
    cls=TopLevel,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Render training jobs into Kubernetes manifests, check them, and run them here or on a cluster.",
)


def run() -> None:
    """Run the program."""
    try:
        try:
            app()
        except SystemExit as end:
            if end.code == INTERRUPTED:
                _exit_at_once(INTERRUPTED)
            sys.stdout.flush()
            raise
    except OSError as error:
        # A reader that has ended, as in `… | head`, is no failure of the output.
        if error.errno not in _OUTPUT_ERRORS:
            raise
        print(
            f"error: the output cannot be written ({error.strerror}); free space, or write it elsewhere",
            file=sys.stderr,
        )
        sys.stderr.flush()
        os._exit(OUTPUT_FAILED)


def error_line(problem: Problem, command: Any) -> str:
    """Return a problem as the line that the user reads.

    A value is named as the user typed it: `--gpus-per-worker` or `NAME` if the command has such a parameter,
    `job.yaml:12: 'spec.slotsPerWorker'` if it is from a file, else its key.

    Args:
        problem: The problem.
        command: The command that the user typed.
    """
    from_file = bool(problem.source) or command is None
    return f"error: {problem.text() if from_file else problem.text(_typed_name(problem, command))}"


def output_folder(outdir: str) -> Path:
    """Return the value of `--outdir`; the empty text of an unset variable would be the current folder."""
    if not outdir:
        raise InputError(Problem(path=("outdir",), given=outdir, fix="give a folder, such as dist"))
    return Path(outdir)


def _typed_name(problem: Problem, command: Any) -> str | None:
    words = list(map(str, problem.path))
    # `lustre.mount_name` is `--lustre-mount-name`, `scheduling.queue` is `--queue`.
    keys = ["_".join(words[start:]) for start in range(len(words))]
    for key, parameter in product(keys, command.params):
        # An argument `files` takes several values, each a `file`.
        if parameter.name in (key, f"{key}s"):
            if parameter.param_type_name == "option":
                return str(parameter.opts[0])
            return str(parameter.metavar or parameter.name.upper())
    return None


def _exit_at_once(code: int) -> None:
    """End the program without cdk8s' exit handler: it waits for Node.js, which Ctrl-C has ended already."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
