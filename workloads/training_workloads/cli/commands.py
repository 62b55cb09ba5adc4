"""The classes of commands and groups, and mistakes in what the user typed as one line each.

A line says what was given, what is allowed, and what to type.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from training_workloads.cli.habits import COMMANDS, DESTRUCTIVE, OPTIONS
from training_workloads.exit_codes import USER_ERROR
from training_workloads.terminal import printable
from training_workloads.validation import InputError, Problem

__all__ = ["Command", "Group", "ProgramCommand", "RejectedValuesError", "error_lines"]

#: Before the arguments of a job's program.
SEPARATOR: Final = "--"

# A long list hides the answer.
_FEW = 10

# A name that is less alike has another meaning: of '--gpus' click finds '--pods'.
_ALIKE = 0.8

# Where a command keeps the words that the user typed.
_WORDS = "training_workloads.words"


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
    group = ctx.command_path.partition(" ")[2]
    if answer := COMMANDS.get(group, {}).get(name):
        return answer
    assert isinstance(ctx.command, click.Group)
    known = ctx.command.list_commands(ctx)
    close = [each for each in known if each not in DESTRUCTIVE and _is_alike(name, each)]
    # Those of a group are few, and a long list hides the answer.
    listed = f"known: {', '.join(sorted(known))}" if len(known) <= _FEW or not close else ""
    return " ".join(filter(None, [f"did you mean {' or '.join(close)}?" if close else "", listed]))


def _is_alike(given: str, name: str) -> bool:
    from difflib import SequenceMatcher

    plain = given.lower().replace("_", "-")
    return (len(plain) > 1 and name.startswith(plain)) or SequenceMatcher(None, plain, name).ratio() >= _ALIKE


def _meant_option(error: click.NoSuchOption, ctx: click.Context) -> str:
    name, path, parameters = _typed_option(error, ctx), ctx.command_path, ctx.command.params
    if habit := OPTIONS.get(name):
        known = {each.name: each for each in parameters}
        if meant := next((known[each] for each in habit.parameters if each in known), None):
            return _instead(meant, name, ctx)
        if habit.otherwise and not isinstance(ctx.command, click.Group):
            return habit.otherwise
    if isinstance(ctx.command, click.Group):
        return f"an option of a command goes behind it: '{path} COMMAND {name}'"
    close = _close_options(name, parameters)
    hint = f"did you mean {' or '.join(close)}?" if close else ""
    if isinstance(ctx.command, ProgramCommand) or any(each.name == "argument" for each in parameters):
        return f"{hint} an argument of the program goes behind '--': '{_with_separator(name, ctx)}'".strip()
    return hint or f"'{path} --help' lists the options"


def _typed_option(error: click.NoSuchOption, ctx: click.Context) -> str:
    """Return an option as it was typed: of `-np` click names `-n`."""
    name = error.option_name
    words = [word.partition("=")[0] for word in ctx.meta.get(_WORDS, ())]
    if name.startswith("--") or name in words:
        return name
    return next((word for word in words if word.startswith(name)), name)


def _instead(meant: click.Parameter, name: str, ctx: click.Context) -> str:
    if isinstance(meant, click.Option):
        return f"use '{meant.opts[0]}'"
    words = [word for word in ctx.meta.get(_WORDS, ()) if word != name]
    return f"give the value without it: '{ctx.command_path} {printable(' '.join(words))}'"


def _close_options(name: str, parameters: list[click.Parameter]) -> list[str]:
    options = [each for same in parameters for each in (*same.opts, *same.secondary_opts) if each.startswith("--")]
    # Of `--no-efa` too the options that begin with `--efa`.
    plain = name.replace("--no-", "--")
    longer = [each for each in options if len(plain) > len("--x") and each.startswith(plain)]
    return longer or [each for each in options if name.startswith("--") and _is_alike(name[2:], each[2:])]


def _with_separator(name: str, ctx: click.Context) -> str:
    """Return the command with an option, and its value if it has one, behind the separator."""
    words = list(ctx.meta.get(_WORDS, ()))
    start = next((number for number, word in enumerate(words) if word.partition("=")[0] == name), len(words))
    has_value = start + 1 < len(words) and "=" not in words[start] and not words[start + 1].startswith("-")
    end = start + 1 + has_value
    own = [word for word in (*words[:start], *words[end:]) if word != SEPARATOR]
    return printable(" ".join([ctx.command_path, *(own or ["JOB"]), SEPARATOR, *words[start:end]]))


class Command(click.Command):
    """A command whose errors know it: values are named as the user typed them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words that follow the command."""
        ctx.meta.setdefault(_WORDS, tuple(args))
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
        ctx.meta[_WORDS] = tuple(args)
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
