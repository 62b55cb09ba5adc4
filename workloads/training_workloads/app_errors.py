"""How a CDK app ends: a mistake of its user is a line, and everything else keeps its traceback."""

import re
import signal
import sys
from types import TracebackType

from training_workloads import nodejs
from training_workloads.terminal import say
from training_workloads.validation import InputError

__all__ = ["errors_as_lines"]

# Node.js and the CDK reach Python as text: an error of the system, such as ENOSPC, rules over several constructs, or
# stacks that wait for each other.
_USERS_MISTAKE = re.compile(r"(\w+: )?(E[A-Z]+: |Validation failed )|DependencyCycle: ")


def errors_as_lines() -> None:
    """End this program without a traceback on Ctrl-C, a mistake in its input, or a disk that is full.

    An app calls it before it imports `aws_cdk`: the import takes seconds, and needs Node.js.
    """
    # Ctrl-C ends the program at once, as it ends a program in C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.excepthook = _report


def _report(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    lines = _lines(error)
    if lines is None:
        sys.__excepthook__(kind, error, traceback)
    else:
        say(*"\n".join(f"error: {line}" for line in lines).split("\n"), error=True)


def _lines(error: BaseException) -> list[str] | None:
    """Return the lines about a mistake of the user, or None for a bug."""
    if isinstance(error, InputError):
        return [str(problem) for problem in error.problems]
    if nodejs.is_failure(error):
        return [nodejs.failure_line(error, "the AWS CDK")]
    if nodejs.is_failure(error.__cause__) and _USERS_MISTAKE.match(str(error)):
        return [str(error)]
    return None
