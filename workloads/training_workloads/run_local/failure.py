"""What ended a run, in one sentence: read from the launcher's exit status and its last words."""

import re
import signal

from training_workloads.mpijob.programs import explained

__all__ = ["exit_code", "what_ended_it"]

# Exit codes from here on say by which signal a process died (https://tldp.org/LDP/abs/html/exitcodes.html).
_DIED_OF_SIGNAL = 128

# The last words of mpirun (Open MPI 4 and 5) and of horovodrun, with their line breaks as spaces.
_SIGNAL = re.compile(r"noticed that process rank (\d+) .*?exited on signal (\d+)")
_CODE = re.compile(r"Process name: (?:\S*[\[,])?(\d+)\]? Exit code: (\d+)")
_ABORT = re.compile(r"MPI_ABORT was invoked on rank (\d+) .*?errorcode:? (\d+)", re.IGNORECASE)


def exit_code(status: int) -> int:
    """The exit code of a program that ended with a status as Python's `subprocess` gives it."""
    return status if status >= 0 else _DIED_OF_SIGNAL - status


def what_ended_it(launcher: str, status: int, words: str) -> str:
    """Says which rank ended the run and how, where the launcher told, else how the launcher ended.

    Args:
        launcher: The launcher's name.
        status: How it ended: its exit code, or the negative number of the signal that it died of.
        words: What it wrote itself on standard error, the ranks' lines left out.
    """
    text = " ".join(words.split())
    if status < 0:
        return f"{launcher} {_how(exit_code(status))}"
    if found := _SIGNAL.search(text):
        return f"rank {found[1]} {_how(_DIED_OF_SIGNAL + int(found[2]))}"
    if found := _CODE.search(text) or _ABORT.search(text):
        return f"rank {found[1]} {_how(int(found[2]))}"
    hint = f", as a rank that {_how(status)}" if _signal_name(status) else ""
    return f"{launcher} ended with {explained(status)}{hint}"


def _how(code: int) -> str:
    name = _signal_name(code)
    return f"was ended by {name}" if name else f"ended with {explained(code)}"


def _signal_name(code: int) -> str | None:
    try:
        return signal.Signals(code - _DIED_OF_SIGNAL).name
    except ValueError:
        return None
