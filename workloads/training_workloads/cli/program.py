"""The program that every command belongs to, and how it ends."""

import contextlib
import errno
import io
import os
import platform
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import typer

from training_workloads import nodejs
from training_workloads.catalog.versions import KUBERNETES_VERSIONS, MPI_OPERATOR_IMAGE
from training_workloads.cli.command_groups import TopLevel
from training_workloads.exit_codes import INTERRUPTED, OUTPUT_FAILED, USER_ERROR
from training_workloads.validation import InputError, Problem

__all__ = ["COMPLETION_VARIABLE", "OUTPUT_ERRORS", "PROGRAM", "app", "main", "output_folder"]

#: The program's name, also for `python -m training_workloads`.
PROGRAM: Final = "trainctl"

#: With this variable the shell's script asks the program for the next word.
COMPLETION_VARIABLE: Final = "_TRAINCTL_COMPLETE"

#: Errors of the place that is written to, not of what the user gave.
OUTPUT_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name=PROGRAM,
    cls=TopLevel,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_versions(given: bool) -> None:
    if not given:
        return
    print(f"{PROGRAM} {version('cdk-training-cluster')}")
    print(f"Python {platform.python_version()}, cdk8s {version('cdk8s')}")
    print(
        f"for Kubernetes {KUBERNETES_VERSIONS[0]} to {KUBERNETES_VERSIONS[-1]}, {MPI_OPERATOR_IMAGE.rpartition('/')[2]}"
    )
    raise typer.Exit


@app.callback()
def top_level(
    _: Annotated[
        bool, typer.Option("--version", help="Print the versions.", is_eager=True, callback=_print_versions)
    ] = False,
) -> None:
    """Render training jobs into Kubernetes manifests, check them, and run them here or on a cluster."""


def main() -> None:
    """Run the program."""
    _open_closed_streams()
    try:
        _reject_a_deleted_folder()
        _answer_a_shell()
        try:
            app(prog_name=PROGRAM)
        except SystemExit as end:
            if end.code == INTERRUPTED:
                _exit_at_once(INTERRUPTED)
            sys.stdout.flush()
            raise
    except OSError as error:
        # A reader that has ended, as in `… | head`, is no failure of the output.
        if error.errno not in OUTPUT_ERRORS:
            raise
        place = f" to {error.filename}" if error.filename else ""
        why = f"the output cannot be written{place} ({error.strerror}); free space, or write it elsewhere"
        print(f"error: {why}", file=sys.stderr)
        _exit_at_once(OUTPUT_FAILED)
    except Exception as error:
        if not nodejs.is_failure(error):
            raise
        print(f"error: {nodejs.failure_line(error, 'cdk8s')}", file=sys.stderr)
        _exit_at_once(OUTPUT_FAILED)


def _open_closed_streams() -> None:
    """Replace streams that the caller closed, as in `trainctl … >&-`, by empty ones: Python has None for them."""
    sys.stdin = sys.stdin or Path(os.devnull).open()
    sys.stdout = sys.stdout or Path(os.devnull).open("w")
    sys.stderr = sys.stderr or Path(os.devnull).open("w")


def _reject_a_deleted_folder() -> None:
    """End the program where Python finds no current folder: every relative path would fail."""
    try:
        Path.cwd()
    except FileNotFoundError:
        given = os.environ.get("PWD", ".")
        problem = Problem(path=("current folder",), given=given, allowed="it was deleted", fix="go to another folder")
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(USER_ERROR)


def _answer_a_shell() -> None:
    """Prepare typer for a question of the shell's script, if this is one; a shell has no place for an error."""
    if COMPLETION_VARIABLE in os.environ:
        import_module("typer.completion").completion_init()
        sys.stderr = io.StringIO()


def output_folder(outdir: str) -> Path:
    """Return the value of `--outdir`; the empty text of an unset variable would be the current folder."""
    if not outdir:
        raise InputError(Problem(path=("outdir",), given=outdir, fix="give a folder, such as dist"))
    return Path(outdir)


def _exit_at_once(code: int) -> None:
    """End the program without cdk8s' exit handler: it waits for Node.js, which Ctrl-C has ended already."""
    # What could not be written before cannot be written now.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
