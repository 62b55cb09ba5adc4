"""What the user typed and no command takes, as one line each: typer's own lines name neither the value nor a fix."""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import typer

from training_workloads.cli.typed_values import NotANumberError
from training_workloads.recipes.built_in import RECIPES
from training_workloads.validation import InputError, Problem, known_names

__all__ = [
    "USAGE_ERRORS",
    "UnexpectedWordError",
    "error_lines",
    "typed_name",
    "unknown_command",
]

# typer exports one of these exceptions of click, which it bundles; the others are beside it.
_EXCEPTIONS: Any = import_module(typer.BadParameter.__module__)

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
    "help": "trainctl --help",
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


class UnexpectedWordError(Exception):
    """A word of the command line that no command takes.

    Attributes:
        problem: The problem; its path is the word.
        what: What the word is, for the user.
    """

    def __init__(self, word: str, what: str, fix: str) -> None:
        self.problem = Problem(path=(word,), given=word, fix=fix)
        self.what = what
        super().__init__(word)

    def __str__(self) -> str:
        # One line, whatever the word contains.
        return self.problem.text(name=repr(self.problem.given)[1:-1], given=self.what)


#: What a program raises for a mistake in what the user typed.
USAGE_ERRORS: Final = (InputError, UnexpectedWordError, _EXCEPTIONS.UsageError)


def unknown_command(name: str, program: str, names: list[str], rest: Sequence[str] = ()) -> UnexpectedWordError:
    """Return the error for a word that is no command.

    Args:
        name: The word.
        program: The program or the group, such as `trainctl platform`.
        names: The commands that it has.
        rest: What follows the word.
    """
    habit = _habit(name, names, rest) if " " not in program else None
    return UnexpectedWordError(
        name, f"not a command of {program}", f"use '{habit}'" if habit else known_names(name, names)
    )


def _habit(name: str, names: list[str], rest: Sequence[str]) -> str | None:
    if name == "help" and rest and rest[0] in names:
        return f"trainctl {rest[0]} --help"
    return f"trainctl render {name}' or 'trainctl run-local {name}" if name in RECIPES else _HABITS.get(name)


def error_lines(error: Exception, command: Any, path: str) -> list[str]:
    """Return the lines that the user reads.

    A value is named as the user typed it: `--gpus-per-worker` or `NAME` if the command has such a parameter,
    `job.yaml:12: 'spec.slotsPerWorker'` if it is from a file, else its key.

    Args:
        error: One of `USAGE_ERRORS`.
        command: The command that the user typed.
        path: How they typed it: `trainctl platform render`.
    """
    if isinstance(error, InputError):
        return [f"error: {_problem_text(problem, command)}" for problem in error.problems]
    if isinstance(error, _EXCEPTIONS.NoArgsIsHelpError):
        return [str(error.format_message())]
    return [f"error: {_usage_text(error, command, path)}"]


def typed_name(parameter: Any) -> str:
    """Return the name of an option or an argument as the user types it."""
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    return str(parameter.metavar or parameter.name.upper())


def _problem_text(problem: Problem, command: Any) -> str:
    if problem.source:
        return problem.text()
    words = list(map(str, problem.path))
    # `lustre.mount_name` is `--lustre-mount-name`, `scheduling.queue` is `--queue`.
    keys = ["_".join(words[start:]) for start in range(len(words))]
    for key in keys:
        for parameter in command.params:
            # An argument `files` takes several values, each a `file`.
            if parameter.name in (key, f"{key}s"):
                return problem.text(typed_name(parameter))
    return problem.text()


def _usage_text(error: Any, command: Any, path: str) -> str:
    match error:
        case NotANumberError():
            return error.problem.text(typed_name(error.param))
        case _EXCEPTIONS.MissingParameter():
            return f"'{typed_name(error.param)}' is missing; type '{_complete(command, path)}'"
        case _EXCEPTIONS.NoSuchOption():
            return str(_unknown_option(error.option_name, error.possibilities or (), command, path))
        case _EXCEPTIONS.BadOptionUsage():
            return str(_option_and_value(error.option_name, command, path))
        case UnexpectedWordError():
            return str(error)
        case _:
            return f"{error.format_message().rstrip('.')}; '{path} --help' shows what to type"


def _unknown_option(name: str, close: Any, command: Any, path: str) -> UnexpectedWordError:
    same = next((each for each in command.params if each.name in _HABITUAL_OPTIONS.get(name, ())), None)
    if same:
        fix = f"use '{same.opts[0]}'" if same.param_type_name == "option" else "give the value without it"
    elif any(name in known.opts for found in getattr(command, "commands", {}).values() for known in found.params):
        fix = f"put it behind the command: '{path} COMMAND {name}'"
    else:
        fix = f"did you mean {' or '.join(close)}?" if close else f"'{path} --help' lists the options"
    if any(each.name == "argument" for each in command.params):
        hint = f"an argument of the script goes behind '--': '{path} train.py -- {name}'"
        fix = f"{fix} {hint}" if close else hint
    if re.fullmatch("-[0-9]", name):
        fix = "give the number without '-'"
    return UnexpectedWordError(name, f"not an option of '{path}'", fix)


def _option_and_value(name: str, command: Any, path: str) -> UnexpectedWordError:
    """Return the error for an option without its value, or a flag with one."""
    option = next(each for each in command.params if name in (*each.opts, *each.secondary_opts))
    if option.is_flag:
        ways = " or ".join(f"'{each}'" for each in (option.opts[0], *option.secondary_opts[:1]))
        return UnexpectedWordError(name, "an option without a value", f"type {ways}")
    return UnexpectedWordError(name, "without a value", f"type '{path} {name} {option.metavar or 'VALUE'}'")


def _complete(command: Any, path: str) -> str:
    """Return the command with everything that it needs."""
    needed = [each for each in command.params if each.required]
    options = [f"{each.opts[0]} {each.metavar or 'VALUE'}" for each in needed if each.param_type_name == "option"]
    return " ".join([path, *options, *(typed_name(each) for each in needed if each.param_type_name == "argument")])
