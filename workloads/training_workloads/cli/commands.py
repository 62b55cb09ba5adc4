"""The classes of commands and groups, and mistakes in what the user typed as one line each.

A line says what was given, what is allowed, and what to type.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from training_workloads.exit_codes import USER_ERROR
from training_workloads.terminal import printable
from training_workloads.validation import InputError, Problem, known_names

__all__ = ["Command", "Group", "ProgramCommand", "RejectedValuesError", "error_lines"]

#: Before the arguments of a job's program.
SEPARATOR: Final = "--"

#: The verbs of kubectl and of shells, and the command that does the same here.
_HABITS: Final = {
    "get": "trainctl list",
    "ls": "trainctl list",
    "ps": "trainctl list",
    "apply": "trainctl submit",
    "create": "trainctl submit",
    "run": "trainctl submit' or 'trainctl run-local",
    "delete": "trainctl cancel",
    "rm": "trainctl cancel",
    "stop": "trainctl cancel",
    "describe": "trainctl status",
    "log": "trainctl logs",
    "help": "trainctl --help' or 'trainctl COMMAND --help",
    "version": "trainctl --version",
    "top": "kubectl top pods",
    "exec": "kubectl exec",
}

#: kubectl's options and those of other commands, and the parameters of which a command has one in their place.
_HABITUAL_OPTIONS: Final = {
    "--replicas": ("workers",),
    "-f": ("files",),
    "--filename": ("files",),
    "-o": ("as_json", "output_format"),
    "--output": ("as_json", "output_format"),
    "--json": ("output_format",),
}


class RejectedValuesError(click.UsageError):
    """Values that a command rejects.

    Attributes:
        problems: Every problem.
    """

    exit_code = USER_ERROR

    def __init__(self, problems: tuple[Problem, ...], ctx: click.Context) -> None:
        super().__init__("\n".join(map(str, problems)), ctx)
        self.problems = problems


def error_lines(error: InputError | click.ClickException) -> list[str]:
    """Return the lines that the user reads.

    A value is named as the user typed it: `--gpus-per-worker` or `NAME` if the command has such a parameter,
    `job.yaml:12: 'spec.slotsPerWorker'` if it is from a file, else its key.
    """
    match error:
        case InputError():
            return [f"error: {problem}" for problem in error.problems]
        case RejectedValuesError(ctx=click.Context() as ctx):
            return [f"error: {_problem_text(problem, ctx.command)}" for problem in error.problems]
        case click.exceptions.NoArgsIsHelpError():
            return error.format_message().split("\n")
        case click.UsageError(ctx=click.Context() as ctx):
            return [f"error: {_usage_text(error, ctx)}"]
        case _:
            return [f"error: {error.format_message()}"]


def _problem_text(problem: Problem, command: click.Command) -> str:
    if problem.source:
        return problem.text()
    words = list(map(str, problem.path))
    # `lustre.mount_name` is `--lustre-mount-name`, `scheduling.queue` is `--queue`.
    for key in ("_".join(words[start:]) for start in range(len(words))):
        for parameter in command.params:
            # An argument `files` takes several values, each a `file`.
            if parameter.name in (key, f"{key}s"):
                return problem.text(_typed_name(parameter))
    return problem.text()


def _typed_name(parameter: click.Parameter) -> str:
    """Return the name of an option or an argument as the user types it."""
    return parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name.strip("[].")


def _usage_text(error: click.UsageError, ctx: click.Context) -> str:
    path = ctx.command_path
    match error:
        case click.NoSuchCommand(command_name=name):
            return f"'{printable(name)}' is not a command of {path}; {_meant_command(name, ctx)}"
        case click.NoSuchOption(option_name=name):
            return f"'{printable(name)}' is not an option of '{path}'; {_meant_option(error, ctx)}"
        case _:
            return f"{printable(error.format_message()).rstrip('.')}; '{path} --help' shows what to type"


def _meant_command(name: str, ctx: click.Context) -> str:
    from training_workloads.recipes.built_in import RECIPES

    if ctx.parent is None and name in RECIPES:
        return f"use 'trainctl render {name}' or 'trainctl run-local {name}'"
    if ctx.parent is None and name in _HABITS:
        return f"use '{_HABITS[name]}'"
    assert isinstance(ctx.command, click.Group)
    return known_names(name, ctx.command.list_commands(ctx))


def _meant_option(error: click.NoSuchOption, ctx: click.Context) -> str:
    name, path, parameters = error.option_name, ctx.command_path, ctx.command.params
    for same in parameters:
        if same.name in _HABITUAL_OPTIONS.get(name, ()):
            return f"use '{same.opts[0]}'" if isinstance(same, click.Option) else "give the value without it"
    if isinstance(ctx.command, click.Group):
        return f"an option of a command goes behind it: '{path} COMMAND {name}'"
    # Of `--no-efa` too the options that begin with `--efa`.
    longer = [each for same in parameters for each in same.opts if each.startswith(name.replace("--no-", "--"))]
    close = f"did you mean {' or '.join(possible)}?" if (possible := longer or error.possibilities) else ""
    if any(each.name == "argument" for each in parameters):
        return f"{close} an argument of the script goes behind '--': '{path} train.py -- {name}'".strip()
    return close or f"'{path} --help' lists the options"


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


class ProgramCommand(Command):
    """A command with arguments of a job's program, behind a lone `--`: the parameter `arguments`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words in front of the `--`, and keep those behind it."""
        end = args.index(SEPARATOR) if SEPARATOR in args else len(args)
        rest = super().parse_args(ctx, args[:end])
        ctx.params["arguments"] = tuple(args[end + 1 :])
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage with the arguments of the program."""
        return [*super().collect_usage_pieces(ctx), f"[{SEPARATOR} ARGUMENT...]"]


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
