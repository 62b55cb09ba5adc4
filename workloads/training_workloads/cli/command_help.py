"""The classes of commands and of groups of commands: their help, and the end after a mistake.

The help is plain text, as kubectl's: Rich needs 0.2 s to start, and cuts titles off in a narrow terminal.
"""

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from training_workloads.cli.usage_errors import (
    USAGE_ERRORS,
    UnexpectedWordError,
    error_lines,
    typed_name,
    unknown_command,
)
from training_workloads.mpijob.programs import USER_ERROR
from training_workloads.validation import InputError, Problem

__all__ = ["INTERRUPTED", "JOBS_HERE", "JOBS_ON_A_CLUSTER", "MORE", "Command", "Program", "TopLevel"]

#: Ctrl-C, in the convention of shells: 128 + SIGINT.
INTERRUPTED = 130

#: The groups of commands in the help, in its order.
JOBS_HERE: Final = "Jobs on this machine"
JOBS_ON_A_CLUSTER: Final = "Jobs on a cluster"
MORE: Final = "More"

# Groups of commands, each a `typer.Typer`, that a package adds in its pyproject.toml.
_ENTRY_POINTS: Final = "trainctl.commands"

_OPTIONS_OF_TYPER: Final = ("install_completion", "show_completion")

# Lines longer than this are hard to read.
_WIDEST_HELP = 100


class Command(TyperCommand):
    """A command."""

    # Rejected here, with the argument.
    allow_extra_args = True

    def __init__(self, *args: Any, **more: Any) -> None:
        """Show values of options as `VALUE`, not as `<str>`."""
        super().__init__(*args, **more)
        options: list[Any] = list(filter(_is_option, self.params))
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
        return ["[OPTIONS]", *(_usage_of(each) for each in self.get_params(ctx) if not _is_option(each))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options with their headings."""
        _write_parameters(self.get_params(ctx), ctx, formatter)


class Program(TyperGroup):
    """Commands; a mistake in what the user typed, or in a file, is one line on standard error and exit code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program that the user typed, and exit."""
        width = min(shutil.get_terminal_size().columns, _WIDEST_HELP)
        settings = {"help_option_names": ["-h", "--help"], "terminal_width": width}
        try:
            code = super().main(*args, **{**settings, **extra, "standalone_mode": False})
        except USAGE_ERRORS as error:
            _end(error, self, extra.get("prog_name") or str(self.name))
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
            raise unknown_command(args[0], ctx.command_path, self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their headings, then the options."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        headed: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (JOBS_HERE, JOBS_ON_A_CLUSTER, MORE)}
        for name, command in commands:
            headed.setdefault(_heading(command, "Commands"), []).append((name, _first_sentence(command)))
        _write_sections(headed, formatter)
        _write_parameters(self.get_params(ctx), ctx, formatter)


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
            group: Any = _group(found)
            group.name = cmd_name
            group.rich_help_panel = MORE
            return group
        return None


@contextmanager
def _ctrl_c_is_one_line() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _group(found: EntryPoint) -> Any:
    """Return the group of an entry point; if it cannot be imported, a command that says so."""
    try:
        group: Any = typer.main.get_command(found.load())
    except (ImportError, AttributeError) as error:
        package = found.dist.name if found.dist else found.value
        if package == "cdk-training-cluster":
            raise
        allowed = f"{found.value} cannot be imported ({error})"
        fix = f"fix or uninstall {package}"
        problem = Problem(path=("COMMAND",), given=found.name, allowed=allowed, fix=fix)

    else:
        # typer's options for completion are the program's, if any.
        group.params = [each for each in group.params if each.name not in _OPTIONS_OF_TYPER]
        return group

    def fail() -> None:
        raise InputError(problem)

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    return TyperCommand(found.name, callback=fail, help="Cannot be imported.", context_settings=anything)


def _end(error: Exception, command: Any, path: str) -> None:
    for line in error_lines(error, command, path):
        print(line, file=sys.stderr)
    sys.exit(USER_ERROR)


def _heading(item: Any, otherwise: str) -> str:
    # typer's placeholder for a value that is not given is false.
    heading = getattr(item, "rich_help_panel", None)
    return heading if isinstance(heading, str) else otherwise


def _first_sentence(command: Any) -> str:
    text = command.short_help or command.help or ""
    return " ".join(text.partition("\n\n")[0].split())


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _usage_of(argument: Any) -> str:
    name = typed_name(argument)
    return f"{name if argument.required else f'[{name}]'}{'...' if argument.nargs != 1 else ''}"


def _write_parameters(parameters: Iterable[Any], ctx: Any, formatter: Any) -> None:
    headed: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for each in parameters:
        if _is_option(each):
            headed.setdefault(_heading(each, "Options"), []).extend(_rows(each.get_help_record(ctx)))
        else:
            headed["Arguments"].append((typed_name(each), each.help or ""))
    _write_sections(headed, formatter)


def _rows(record: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
    if record:
        yield record


def _write_sections(headed: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for heading, rows in headed.items():
        if rows:
            with formatter.section(heading):
                # In a narrow terminal the explanation is below a long name.
                formatter.write_dl(rows, col_max=min(30, formatter.width // 3))
