"""The classes of commands and groups: click's, with values named as the user typed them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from training_workloads.cli.usage_errors import RejectedValuesError
from training_workloads.validation import InputError

__all__ = ["Command", "Group"]


class Command(click.Command):
    """A command whose errors know it: values are named as the user typed them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words that follow the command."""
        with _problems_of(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _problems_of(ctx):
            return super().invoke(ctx)


class Group(click.Group):
    """Commands under one word."""

    command_class = Command


@contextmanager
def _problems_of(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise RejectedValuesError(error.problems, ctx) from error
    except click.UsageError as error:
        error.ctx = error.ctx or ctx
        raise
