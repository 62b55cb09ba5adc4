"""Options with a number: what the user typed is rejected in this program's words, with the value that they gave."""

import math
import re
from typing import Any

import typer

from training_workloads.validation import InputError, Problem, matches

__all__ = ["NotANumberError", "number", "number_option", "seconds", "whole_number"]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_ANY = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)

# More than any field of Kubernetes takes; a longer number is a mistake, and Python rejects 4300 digits.
_MOST_DIGITS = 18


_TIME = r"(\d{1,9})([smhd]?)"
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class NotANumberError(typer.BadParameter):
    """A value that is no number; typer adds the option.

    Attributes:
        problem: The problem, still without a path.
    """

    def __init__(self, given: str, fix: str) -> None:
        super().__init__(fix)
        self.problem = Problem(path=(), given=given, fix=fix)


def whole_number(text: str | int, sample: int = 2) -> int:
    """Return a whole number; a default is one already."""
    if isinstance(text, int):
        return text
    if not _WHOLE.fullmatch(text):
        raise NotANumberError(text, f"give a whole number, such as {sample}")
    if len(text) > _MOST_DIGITS:
        raise NotANumberError(text, f"give a number of at most {_MOST_DIGITS} digits")
    return int(text)


def number(text: str | float) -> float:
    """Return a number, with or without a fraction; a default is one already."""
    if isinstance(text, int | float):
        return float(text)
    if not _ANY.fullmatch(text):
        raise NotANumberError(text, "give a number, such as 2500 or 0.5")
    if not math.isfinite(value := float(text)):
        raise NotANumberError(text, "give a number that is less than 1e308")
    return value


def seconds(name: str, text: str) -> int:
    """Return a time in seconds.

    Args:
        name: The argument, as the user typed it.
        text: What they gave, such as `90s`, `10m` or `2h`.

    Raises:
        InputError: It is no time.
    """
    if problems := list(matches(name, text, _TIME, "seconds, or a number with s, m, h or d, such as 10m")):
        raise InputError(*problems)
    count, unit = re.fullmatch(_TIME, text).groups()  # type: ignore[union-attr]
    return int(count) * _UNIT_SECONDS[unit]


def number_option(help: str, sample: int = 2) -> Any:
    """Return an option with a whole number.

    Args:
        help: Its line in the help.
        sample: A usual value, for the message about another.
    """

    def parsed(text: str | int) -> int:
        return whole_number(text, sample)

    return typer.Option(parser=parsed, metavar="NUMBER", help=help)
