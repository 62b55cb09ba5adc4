"""Options, each stated once: a field of a settings class, from which the command line and `resume_settings` derive."""

import argparse
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .command_line import Parser

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# The groups of a command line's help, in this order; options without one come first.
_GROUPS = ("data", "network", "recipe", "machine", "ranks", "output")

_KEY = "option"

#: With this variable a program ends when its command line is parsed: `trainctl` checks the arguments of a job.
ONLY_PARSE = "TRAINING_ONLY_PARSE"

#: Instead of a default, for an option that must be given.
REQUIRED = object()

Settings = TypeVar("Settings", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """An option of a command line.

    Attributes:
        kind: The parser of its value, or the values to choose from, or `bool` for a flag.
        help: Meaning and unit; the help adds the default.
        default: Value where it is not given; `REQUIRED` for one that must be given.
        group: Group of the help.
        metavar: Name of the value in the help. Default: argparse's.
        positional: Whether the value stands alone, without the option's name.
        rest: Whether it is all words that follow, without a '--' before them; `kind` gets the list.
        repeated: Whether the option may be given several times; the value is a tuple.
        learned: Whether it changes what is learned: a run resumes only with the same value. A function returns the
            part of the value that does.
    """

    kind: Callable[[Any], Any] | Sequence[str]
    help: str
    default: Any = REQUIRED
    group: str = ""
    metavar: str | None = None
    positional: bool = False
    rest: bool = False
    repeated: bool = False
    learned: bool | Callable[[Any], Any] = False


def option(kind: Callable[[Any], Any] | Sequence[str], help: str, **values: Any) -> Any:
    """Return the field of an option, for the body of a settings class; see `Option`."""
    return _field(Option(kind=kind, help=help, **values))


def changed(settings: type, name: str, **values: Any) -> Any:
    """Return the field of another class's option, with other values; see `Option`."""
    (field,) = (each for each in dataclasses.fields(settings) if each.name == name)
    return _field(dataclasses.replace(field.metadata[_KEY], **values))


def _field(stated: Option) -> Any:
    default: Any = dataclasses.MISSING if stated.default is REQUIRED else stated.default
    return dataclasses.field(default=default, metadata={_KEY: stated})


def parse(
    settings: type[Settings],
    program: str,
    description: str | None,
    arguments: Sequence[str] | None,
    *,
    parser: type[Parser] = Parser,
) -> Settings:
    """Return the settings of a command line.

    Args:
        settings: Their class.
        program: Module of the program, such as `training.staging`.
        description: Beginning of the help; one of several lines keeps them.
        arguments: The command line; None for that of the process.
        parser: Class of the parser.

    Raises:
        UserError: A value is not allowed, or two values exclude each other.
    """
    stated = stated_options(settings)
    groups = {each.group for each in stated.values()}
    unknown = groups - {"", *_GROUPS}
    if unknown:
        raise ValueError(f"the help has no group {unknown}; give one of {_GROUPS}")
    formatter = argparse.RawDescriptionHelpFormatter
    made = parser(prog=f"python -m {program}", description=description, formatter_class=formatter)
    for group in ("", *_GROUPS):
        if group in groups:
            add_to = made.add_argument_group(group) if group else made
            for name, each in stated.items():
                if each.group == group:
                    add(add_to, name, each)
    given = vars(made.parse_args(arguments))
    for name, each in stated.items():
        if each.rest and callable(each.kind):
            words = given[name]
            given[name] = each.kind(words[1:] if words[:1] == ["--"] else words)
        elif each.repeated:
            given[name] = tuple(given[name])
    parsed = settings(**given)
    if os.environ.get(ONLY_PARSE):
        raise SystemExit(0)
    return parsed


def stated_options(settings: "type[DataclassInstance] | DataclassInstance") -> Mapping[str, Option]:
    """Return the options of a settings class by the names of their fields."""
    return {each.name: each.metadata[_KEY] for each in dataclasses.fields(settings)}


def add(add_to: argparse._ActionsContainer, name: str, stated: Option) -> None:
    """Add an option to a parser or to a group of it."""
    if stated.kind is bool:
        add_to.add_argument(_words(name), action="store_true", help=stated.help)
        return
    given: dict[str, Any] = {"type": stated.kind} if callable(stated.kind) else {"choices": stated.kind}
    if stated.rest:
        add_to.add_argument(name, nargs=argparse.REMAINDER, help=stated.help)
        return
    if stated.positional:
        add_to.add_argument(name, help=stated.help, **given)
        return
    if stated.default is REQUIRED:
        given["required"] = True
    else:
        given["default"] = stated.default
    if stated.repeated:
        given |= {"action": "append", "default": list(stated.default)}
    shown = "" if given.get("default") in (None, []) else " (%(default)s)"
    add_to.add_argument(_words(name), metavar=stated.metavar, help=f"{stated.help}{shown}", **given)


def learned(settings: "DataclassInstance") -> dict[str, Any]:
    """Return the options that change what is learned, by their names on the command line."""
    found = {}
    for name, stated in stated_options(settings).items():
        if stated.learned:
            value = getattr(settings, name)
            found[_words(name)] = stated.learned(value) if callable(stated.learned) else value
    return found


def _words(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def printed(value: float) -> float:
    """Return a number as a run prints it, so that it can be given again."""
    return float(f"{value:g}")
