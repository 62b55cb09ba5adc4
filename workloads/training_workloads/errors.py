"""The one error that a user's input can raise, and the sentences it is made of.

Every message names the argument as the user typed it, the value that was given, what is allowed and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["InputError", "check_at_least", "unknown_name"]


class InputError(ValueError):
    """A value that the user gave and can mend; its text is shown without a traceback."""


def unknown_name(argument: str, value: str, known: Iterable[str]) -> InputError:
    """Answers an unknown name with the closest known ones.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.
        known: Every allowed name.
    """
    names = sorted(known)
    close = get_close_matches(value, names, n=3)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return InputError(f"'{argument}' is {value!r}, which is not known; {hint}known: {', '.join(names)}")


def check_at_least(argument: str, value: int, minimum: int) -> None:
    """Refuses a number below its minimum.

    Raises:
        InputError: `value` is below `minimum`.
    """
    if value < minimum:
        raise InputError(f"{argument!r} is {value}; give {minimum} or more")
