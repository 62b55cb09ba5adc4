"""The program that every command belongs to, and what its exit codes mean."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer

from training_workloads.cluster.exit_codes import INTERRUPTED
from training_workloads.validation import InputError

__all__ = ["HERE", "ON_A_CLUSTER", "PLANNING", "USER_MISTAKE", "app", "option_names", "run"]

#: Exit code for what the user can mend in what they typed.
USER_MISTAKE = 2

#: Under which heading of `--help` a command stands.
HERE = "Jobs, on this machine"
ON_A_CLUSTER = "Jobs, on the cluster of your kubeconfig"
PLANNING = "Clusters"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Render training jobs into Kubernetes manifests, check them, and run them here or on a cluster.",
)


def run() -> None:
    """Runs the program; each of a user's mistakes is one line on standard error."""
    try:
        app()
    except InputError as error:
        for mistake in error.args:
            print(f"error: {mistake}", file=sys.stderr)
        sys.exit(USER_MISTAKE)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _leave_at_once(INTERRUPTED)
        raise


def _leave_at_once(code: int) -> None:
    """Ends the program without a farewell to cdk8s' Node.js, which Ctrl-C has ended already."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def option_names(fields: Iterable[str]) -> Iterator[None]:
    """Names the fields in a message as they are typed here: `'--gpus-per-worker'`."""
    try:
        yield
    except InputError as error:
        mistakes = [str(mistake) for mistake in error.args]
        for field in fields:
            option = f"'--{field.replace('_', '-')}'"
            mistakes = [mistake.replace(f"'{field}'", option) for mistake in mistakes]
        raise InputError(*mistakes) from error
