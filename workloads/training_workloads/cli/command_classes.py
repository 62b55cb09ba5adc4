"""The classes of commands and of groups of commands: what is parsed, and the end after a mistake."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from training_workloads.cli.help_text import help_width, is_option, usage_of, write_commands, write_parameters
from training_workloads.cli.usage_errors import (
    USAGE_ERRORS,
    UnexpectedWordError,
    error_lines,
    unknown_command,
)
from training_workloads.exit_codes import ABORTED, INTERRUPTED, USER_ERROR

__all__ = ["Command", "Program"]


class Command(TyperCommand):
    """A command."""

    # Rejected here, with the argument.
    allow_extra_args = True

    def __init__(self, *args: Any, **more: Any) -> None:
        """Show values of options as `VALUE`, not as `<str>`."""
        super().__init__(*args, **more)
        options: list[Any] = list(filter(is_option, self.params))
        for each in options:
            each.metavar = each.metavar or (None if each.is_flag else "VALUE")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what follows the command; reject what is too much."""
        rest: list[str] = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            usage = " ".join([ctx.command_path, *self.collect_usage_pieces(ctx)])
            raise UnexpectedWordError(rest[0], "one argument too many", f"type '{usage}'")
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command in its usage: `[OPTIONS] NAME...`."""
        return ["[OPTIONS]", *(usage_of(each) for each in self.get_params(ctx) if not is_option(each))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options with their headings."""
        write_parameters(self.get_params(ctx), ctx, formatter)


class Program(TyperGroup):
    """Commands; a mistake in what the user typed, or in a file, is one line on standard error and exit code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program that the user typed, and exit."""
        settings = {"help_option_names": ["-h", "--help"], "terminal_width": help_width()}
        try:
            code = super().main(*args, **{**settings, **extra, "standalone_mode": False})
        except USAGE_ERRORS as error:
            _end(error, self, extra.get("prog_name") or str(self.name))
        except typer.Abort:
            print("aborted", file=sys.stderr)
            sys.exit(ABORTED)
        sys.exit(code or 0)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse what the user typed before the command."""
        with _ctrl_c_is_one_line():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the user typed."""
        try:
            with _ctrl_c_is_one_line():
                return super().invoke(ctx)
        except USAGE_ERRORS as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if name else self
            _end(error, command, f"{ctx.command_path} {name or ''}".strip())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names, with its name and the other words."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise unknown_command(args[0], ctx.command_path, self.list_commands(ctx), args[1:])
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their headings, then the options."""
        write_commands([(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)], formatter)
        write_parameters(self.get_params(ctx), ctx, formatter)


@contextmanager
def _ctrl_c_is_one_line() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _end(error: Exception, command: Any, path: str) -> None:
    for line in error_lines(error, command, path):
        print(line, file=sys.stderr)
    sys.exit(USER_ERROR)
