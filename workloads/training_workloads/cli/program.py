"""The program that every command belongs to, and how it ends."""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from training_workloads.cli.commands import error_lines
from training_workloads.cli.completion import COMPLETION_VARIABLE
from training_workloads.cli.top_level import TopLevel
from training_workloads.exit_codes import ABORTED, CLUSTER_FAILED, INTERRUPTED, OUTPUT_FAILED, USER_ERROR
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem

__all__ = ["OUTPUT_ERRORS", "PROGRAM", "failures_as_lines", "main", "output_folder", "program"]

#: The program's name, also for `python -m training_workloads`.
PROGRAM: Final = "trainctl"

#: Errors of the place that is written to, not of what the user gave.
OUTPUT_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# Lines of help longer than 100 columns are hard to read.
_SETTINGS: Final[dict[str, Any]] = {
    "help_option_names": ["-h", "--help"],
    "show_default": True,
    "max_content_width": 100,
}

# What a shell shows for a program that writes to a reader that has ended, as in `… | head`.
_NO_READER = 1


def _print_versions(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    if not given or ctx.resilient_parsing:
        return
    import platform
    from importlib.metadata import version

    from training_workloads.catalog.images import MPI_OPERATOR_IMAGE
    from training_workloads.catalog.versions import KUBERNETES_VERSIONS

    say(f"{PROGRAM} {version('cdk-training-cluster')}")
    say(f"Python {platform.python_version()}, cdk8s {version('cdk8s')}")
    releases = f"{KUBERNETES_VERSIONS[0]} to {KUBERNETES_VERSIONS[-1]}"
    say(f"for Kubernetes {releases}, mpi-operator:{MPI_OPERATOR_IMAGE.tag}")
    ctx.exit()


@click.group(cls=TopLevel, context_settings=_SETTINGS)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_versions, help="Print the versions."
)
def program() -> None:
    """Render training jobs into Kubernetes manifests, check them, and run them here or on a cluster."""


def main() -> None:
    """Run the program, and exit."""
    _open_closed_streams()
    try:
        _reject_a_deleted_folder()
        code = _answer_a_shell() if COMPLETION_VARIABLE in os.environ else _run()
        sys.stdout.flush()
    except OSError as error:
        if error.errno == errno.EPIPE:
            _exit_at_once(_NO_READER)
        if error.errno not in OUTPUT_ERRORS:
            raise
        place = f" to {error.filename}" if error.filename else ""
        why = f"the output cannot be written{place} ({error.strerror}); free space, or write it elsewhere"
        say(f"error: {why}", error=True)
        _exit_at_once(OUTPUT_FAILED)
    except Exception as error:
        from training_workloads import nodejs

        if not nodejs.is_failure(error):
            raise
        say(f"error: {nodejs.failure_line(error, 'cdk8s')}", error=True)
        _exit_at_once(OUTPUT_FAILED)
    if code == INTERRUPTED:
        _exit_at_once(INTERRUPTED)
    sys.exit(code)


def _run() -> int:
    """Run the command that the user typed, and return the exit code."""
    try:
        with program.make_context(PROGRAM, sys.argv[1:]) as context:
            program.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (InputError, click.ClickException) as error:
        say(*error_lines(error), error=True)
        return USER_ERROR
    except click.Abort:
        say("aborted", error=True)
        return ABORTED
    except KeyboardInterrupt:
        say("interrupted", error=True)
        return INTERRUPTED
    return 0


def _answer_a_shell() -> int:
    """Answer the shell's script with the next words; a shell has no place for an error."""
    from click.shell_completion import shell_complete

    sys.stderr = io.StringIO()
    return shell_complete(program, {}, PROGRAM, COMPLETION_VARIABLE, os.environ[COMPLETION_VARIABLE])


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
        say(f"error: {problem}", error=True)
        sys.exit(USER_ERROR)


def output_folder(outdir: str) -> Path:
    """Return the value of `--outdir`; the empty text of an unset variable would be the current folder."""
    if not outdir:
        raise InputError(Problem(path=("outdir",), given=outdir, fix="give a folder, such as dist"))
    if outdir == "-":
        allowed = "each job is a separate file"
        raise InputError(Problem(path=("outdir",), given=outdir, allowed=allowed, fix="give a folder, such as dist"))
    return Path(outdir)


@contextlib.contextmanager
def failures_as_lines() -> Iterator[None]:
    """End a command with one line where AWS cannot be asked or rejects a request, or the build of an image fails."""
    from training_workloads.aws.errors import AwsError
    from training_workloads.images.build_folder import ImageError

    try:
        yield
    except (AwsError, ImageError) as error:
        say(f"error: {error}", error=True)
        raise click.exceptions.Exit(CLUSTER_FAILED) from error


def _exit_at_once(code: int) -> None:
    """End the program without cdk8s' exit handler: it waits for Node.js, which Ctrl-C has ended already."""
    # What could not be written before cannot be written now.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
