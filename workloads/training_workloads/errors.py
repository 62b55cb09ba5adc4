"""The one error that a user's input can raise, and the sentences it is made of.

Every message names the argument as the user typed it, the value that was given, what is allowed and what to do.
"""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

__all__ = [
    "InputError",
    "check_at_least",
    "check_one_of",
    "check_text",
    "enforce",
    "known_names",
    "refuse",
    "unknown_name",
]

_FEW_NAMES = 10
_INT32 = 2**31 - 1

_Subject = TypeVar("_Subject")


class InputError(ValueError):
    """Values that the user gave and can mend; each argument is a sentence, shown on a line without a traceback."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


def unknown_name(argument: str, value: str, known: Iterable[str]) -> InputError:
    """Answers an unknown name with the closest known ones, or with all if none is close.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.
        known: Every allowed name.
    """
    return InputError(f"'{argument}' is {value!r}, which is not known; {known_names(value, known)}")


def known_names(value: str, known: Iterable[str]) -> str:
    """Says what an unknown name may have been meant to be, for the end of a sentence.

    Args:
        value: What the user gave.
        known: Every allowed name; at least one, in the order in which those that fit are to be told.
    """
    names = list(known)
    close = _meant(str(value).strip().lower(), names)
    hint = f"did you mean {' or '.join(close)}?" if close else ""
    # A long list hides the answer.
    if not close or len(names) <= _FEW_NAMES:
        hint = f"{hint} known: {', '.join(sorted(names))}".strip()
    return hint


def _meant(value: str, names: list[str]) -> list[str]:
    """The name itself in other letters, else those that it is the beginning of, else those that look like it."""
    same = [name for name in names if name.lower() == value]
    # Of p5 the sizes of that family (p5.48xlarge), not of another (p5en.48xlarge).
    family = [name for name in names if name.startswith(f"{value}.")]
    longer = [name for name in names if len(value) > 1 and name.startswith(value)]
    started = family or longer
    return same or (started if len(started) <= _FEW_NAMES else []) or get_close_matches(value, sorted(names), n=3)


def enforce(subject: _Subject, rules: Iterable[Callable[[_Subject], object]]) -> None:
    """Applies every rule and reports all mistakes at once.

    Args:
        subject: What the user described.
        rules: Small functions, one rule each, that raise InputError.

    Raises:
        InputError: One or more rules are broken; the error has one argument for each mistake.
    """
    mistakes: dict[Any, None] = {}
    for rule in rules:
        try:
            rule(subject)
        except InputError as error:
            # Several rules may stumble over the same value: an unknown name, say, is told once.
            mistakes |= dict.fromkeys(error.args)
    if mistakes:
        raise InputError(*mistakes)


def refuse(mistakes: Iterable[str]) -> None:
    """Raises what a rule found, where that may be several things.

    Raises:
        InputError: There is a mistake.
    """
    if found := tuple(mistakes):
        raise InputError(*found)


def check_at_least(argument: str, value: Any, minimum: int, maximum: int = _INT32) -> None:
    """Refuses what is not a whole number, or a number outside its range.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.
        minimum: The smallest number allowed.
        maximum: The largest number allowed. Default: that of Kubernetes' 32-bit fields.

    Raises:
        InputError: `value` is not an integer, below `minimum` or above `maximum`.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{argument!r} is {value!r}; give a whole number, {minimum} or more")
    if value < minimum:
        raise InputError(f"{argument!r} is {value}; give {minimum} or more")
    if value > maximum:
        raise InputError(f"{argument!r} is {value}; give {maximum} or less")


def check_one_of(argument: str, value: Any, allowed: Iterable[Any]) -> None:
    """Refuses a value that is not in a list.

    Raises:
        InputError: `value` is not one of `allowed`.
    """
    if value not in (choices := list(allowed)):
        raise InputError(f"{argument!r} is {value!r}; give one of {', '.join(map(str, choices))}")


def check_text(argument: str, value: Any, pattern: str, rule: str) -> None:
    """Refuses what is not a string of a certain form.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.
        pattern: Regular expression for the whole string.
        rule: The same in words, after "give".

    Raises:
        InputError: `value` is not a string, or does not match.
    """
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise InputError(f"{argument!r} is {value!r}; give {rule}")
