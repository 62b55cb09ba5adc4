"""Command-line options whose errors name the value given and the values allowed."""

import argparse
import math
import re
import sys
from collections.abc import Callable
from typing import NoReturn

from training.runtime.errors import USER_ERROR, UserError


class Parser(argparse.ArgumentParser):
    """An argument parser that raises a `UserError` where argparse would print its usage and exit."""

    def error(self, message: str) -> NoReturn:
        """Raise argparse's "argument --epochs: is 0" as "'--epochs' is 0"."""
        raise UserError(re.sub(r"^argument (\S+): ", r"'\1' ", message))


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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
