"""Text on the terminal: texts from outside control it nowhere.

A message of an API server, a webhook, AWS or a container, and a name in a file, may have control characters: a terminal
obeys them. Unicode's controls of the writing direction show text in another order.
"""

import sys

__all__ = ["print_raw", "printable", "say"]


def printable(text: str) -> str:
    r"""Return a text in one line, where control characters are escaped as in Python: `\x1b`, `\n`, `\u202e`."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def say(*lines: str, error: bool = False) -> None:
    """Print lines, each escaped.

    Args:
        lines: The lines; a newline in one is escaped too.
        error: Whether they go to standard error: they are not the result of the command.
    """
    if lines:
        print(*map(printable, lines), sep="\n", file=sys.stderr if error else sys.stdout, flush=True)


def print_raw(text: str, *, error: bool = False) -> None:
    """Print a text as it is: JSON, or a line of a log, which may have colors, as kubectl prints it."""
    print(text, file=sys.stderr if error else sys.stdout, flush=True)
