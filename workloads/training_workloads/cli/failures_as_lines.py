"""The end of a command that asks AWS, or builds an image, after a failure."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from training_workloads.aws.errors import AwsError
from training_workloads.exit_codes import CLUSTER_FAILED
from training_workloads.images.image_error import ImageError

__all__ = ["failures_as_lines"]


@contextmanager
def failures_as_lines() -> Iterator[None]:
    """End the command with one line where AWS cannot be asked or rejects a request, or a build fails."""
    try:
        yield
    except (AwsError, ImageError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise click.exceptions.Exit(CLUSTER_FAILED) from error
