"""Command-line options whose errors name the value given and the values allowed."""

import argparse
import difflib
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from .errors import USER_ERROR, UserError

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Parser(argparse.ArgumentParser):
    """An argument parser that raises a `UserError` where argparse would print its usage and exit."""

    def __init__(self, **options: Any) -> None:
        """Take the options of argparse's parser."""
        # An abbreviation that is unique today would be ambiguous with the next option.
        super().__init__(allow_abbrev=False, **options)
        # No option begins with a digit: so -5min is a value, whose own error names the allowed values.
        self._negative_number_matcher = re.compile(r"-[0-9.]")

    def error(self, message: str) -> NoReturn:
        """Raise argparse's "argument --epochs: is 0" as "'--epochs' is 0", and its own texts in the same form."""
        if found := re.fullmatch(r"argument (\S+): invalid choice: (.*) \(choose from (.*)\)", message, re.DOTALL):
            choices = [choice.strip("'") for choice in found[3].split(", ")]
            raise UserError(f"'{found[1]}' is {found[2]}; give {_or(choices)}")
        if found := re.fullmatch(r"argument (\S+): expected one argument", message):
            raise UserError(f"'{found[1]}' has no value; give '{found[1]} <value>'")
        if found := re.fullmatch(r"unrecognized arguments: (.*)", message, re.DOTALL):
            raise UserError(self._unknown(found[1].split(" ")[0]))
        raise UserError(re.sub(r"^argument (\S+): ", r"'\1' ", message))

    def _unknown(self, given: str) -> str:
        name = given.partition("=")[0]
        options = [option for option in self._option_string_actions if option.startswith("--")]
        if not name.startswith("-"):
            return f"'{given}' belongs to no option; '--help' lists them"
        close = [option for option in options if name in (option[: len(name)], _initials(option))]
        close = close or difflib.get_close_matches(name, options, n=1)
        if not close:
            return f"'{name}' is not an option; '--help' lists them"
        return f"'{name}' is not an option; did you mean {_or([repr(option) for option in close])}?"


def _initials(option: str) -> str:
    """Return --lr for --learning-rate."""
    return "--" + "".join(word[0] for word in option.removeprefix("--").split("-"))


def _or(names: Sequence[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} or {last}" if before else last


def exit_code(program: Callable[[], int | None]) -> int:
    """Run a program and return its exit code, also after a user's error."""
    try:
        return program() or 0
    except UserError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return USER_ERROR


def whole_number(minimum: int, maximum: int = 10**9) -> Callable[[str], int]:
    """Return an option type for whole numbers from `minimum` to `maximum`."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
            raise argparse.ArgumentTypeError(f"is {text!r}; give a whole number, {minimum} or more")
        if int(text) < minimum:
            raise argparse.ArgumentTypeError(f"is {text}; give {minimum} or more")
        if int(text) > maximum:
            raise argparse.ArgumentTypeError(f"is {text}; give {maximum} or less")
        return int(text)

    return parse


def positive_number(text: str) -> float:
    """Return a finite number above 0."""
    value = _number(text)
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"is {text}; give a number above 0")
    return value


def number_from(minimum: float, maximum: float = 1e9) -> Callable[[str], float]:
    """Return an option type for numbers from `minimum` to `maximum`."""

    def parse(text: str) -> float:
        if not minimum <= _number(text) <= maximum:
            raise argparse.ArgumentTypeError(f"is {text}; give a number from {minimum:g} to {maximum:g}")
        return _number(text)

    return parse


def path(text: str) -> Path:
    """Return a path; an empty one would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("is empty; give a path, or set the variable that it comes from")
    return Path(text)


def _number(text: str) -> float:
    # float() takes 1_0 as 10.
    return float(text) if _NUMBER.fullmatch(text) else math.nan
