"""The reason of a failure, from the last lines of the ranks' standard error."""

import re

from training.pods.first_process import SIGNAL_CODES

# The tag of mpirun or horovodrun: "[1,0]<stderr>:".
_LINE = re.compile(r"(\[[^\]\s]*\]<\w+>: ?)?(.*)", re.DOTALL)
_MESSAGE = re.compile(r"(?:[\w./-]+: )?error: (.+)")
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception)(?::.*)?")
# Python cannot raise it, such as one of a destructor at the exit; its traceback follows.
_IGNORED = "Exception ignored "
# Words in the errors of a rank that has lost another one, and in the last exception of torchrun.
_OF_OTHERS = ("horovod", "childfailederror")
# The first rank that failed, in the last lines of horovodrun, which itself ends with 1
# (https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/gloo_run.py, launch_gloo_elastic).
_CODE = re.compile(r"Process name: .*\nExit code: (\d+)")
# The same in the last lines of torchrun, which itself ends with 1; a signal's number is negative (torch 2.15.0).
_TORCHRUN_CODE = re.compile(r"Root Cause \(first observed failure\):\n(?:.*\n){,5}? +exitcode +: (-?\d+) ")


def code_of_a_rank(text: str) -> int | None:
    """Return the exit code of the first rank that failed, where the launch command prints one."""
    found = _CODE.findall(text) or _TORCHRUN_CODE.findall(text)
    if not found:
        return None
    code = int(found[-1])
    return code if code >= 0 else SIGNAL_CODES - code


def is_of_others(reason: str) -> bool:
    """Return whether a reason is that of a rank that has lost another one."""
    return any(part in reason.lower() for part in _OF_OTHERS)


def message(text: str) -> str:
    """Return the last error that a rank printed, rather than those of others because of it; empty without one."""
    messages, exceptions = _errors(text)
    # Lines without a tag are those of the launch command, where the ranks' have one.
    ranks = [words for tag, words in exceptions if tag] or [words for _, words in exceptions]
    own = [words for words in ranks if not is_of_others(words)]
    return (messages or own or ranks or [""])[-1]


def _errors(text: str) -> tuple[list[str], list[tuple[str | None, str]]]:
    """Return the messages of errors, and the exceptions with the tags of their ranks."""
    messages, exceptions, ignored = list[str](), list[tuple[str | None, str]](), set[str | None]()
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        assert found
        tag, words = found.groups()
        if words.startswith(_IGNORED):
            ignored.add(tag)
        elif said := _MESSAGE.fullmatch(words):
            messages.append(said[1].strip())
        elif _EXCEPTION.fullmatch(words):
            if tag in ignored:
                ignored.remove(tag)
            else:
                exceptions.append((tag, words.strip()))
    return messages, exceptions
