"""The groups of commands that packages add to the program by an entry point."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import typer
from typer.core import TyperCommand

from training_workloads.cli.command_classes import Command, Program
from training_workloads.cli.help_text import MORE
from training_workloads.recipes.user_code import described
from training_workloads.validation import InputError, Problem

__all__ = ["TopLevel"]

# Each is a `typer.Typer`, that a package adds in its pyproject.toml.
_ENTRY_POINTS: Final = "trainctl.commands"

_OPTIONS_OF_TYPER: Final = ("install_completion", "show_completion")


class TopLevel(Program):
    """The commands for jobs, and the groups that packages add; these are imported on use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands and of the groups."""
        own: list[str] = super().list_commands(ctx)
        added = {each.name for each in entry_points(group=_ENTRY_POINTS)}
        return [*own, *sorted(added - set(own))]

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


@cache
def _group(found: EntryPoint) -> Any:
    """Return the group of an entry point; if it cannot be imported, a command that says so."""
    package = found.dist.name if found.dist else found.value
    try:
        # What a package prints at its import would be a candidate of the shell's completion.
        with redirect_stdout(sys.stderr):
            app = found.load()
    # A program that ends by itself raises SystemExit, such as one that parses the command line.
    except (Exception, SystemExit) as error:
        if package == "cdk-training-cluster":
            raise
        why = f"{found.value} raises {described(error)}"
        return _failing(found.name, why, f"fix or uninstall {package}")
    if not isinstance(app, typer.Typer):
        return _failing(found.name, f"{found.value} is not a typer.Typer", f"fix or uninstall {package}")
    _make_plain(app)
    group: Any = typer.main.get_command(app)
    # typer's options for completion are the program's, if any.
    group.params = [each for each in group.params if each.name not in _OPTIONS_OF_TYPER]
    return group


def _make_plain(app: typer.Typer) -> None:
    """Give a group the help and the messages of this program."""
    app.rich_markup_mode = None
    if not isinstance(app.info.cls, type):
        app.info.cls = Program
    for command in app.registered_commands:
        command.cls = Command if command.cls in (None, TyperCommand) else command.cls
    for inner in app.registered_groups:
        if inner.typer_instance:
            _make_plain(inner.typer_instance)


def _failing(name: str, why: str, fix: str) -> Any:
    problem = Problem(path=("COMMAND",), given=name, allowed=why, fix=fix)
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    return TyperCommand(name, callback=_raising(problem), help=f"Cannot be imported: {why}.", context_settings=anything)


def _raising(problem: Problem) -> Callable[[], None]:
    def fail() -> None:
        raise InputError(problem)

    return fail
