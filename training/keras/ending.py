"""The end of a script that Keras calls back: its exit code, as that of a program of ranks."""

import sys
from collections.abc import Callable
from typing import TypeVar

from ..runtime.distributed import run

Value = TypeVar("Value")


def or_exit(action: Callable[[], Value]) -> Value:
    """Return the value of an action; end the script with 2 at a user's error, and with 75 when its state is saved."""
    values: list[Value] = []
    code = run(lambda: values.append(action()))
    if code:
        sys.exit(code)
    return values[0]
