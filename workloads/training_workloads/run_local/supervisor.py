"""Start a launcher, forward its output, say what ended it, and end every process of the run."""

import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from training_workloads.mpijob.programs import STOPPED, explained
from training_workloads.run_local import private_network
from training_workloads.run_local.process_family import Family, caught_signals, end_with_parent
from training_workloads.run_local.rank_lines import LauncherOutput

__all__ = ["Ending", "exit_code", "supervise", "what_ended_it"]

# Between two checks of whether the launcher has ended.
_PAUSE_SECONDS = 0.1

# An exit code above this is 128 plus the signal that ended a process
# (https://tldp.org/LDP/abs/html/exitcodes.html).
_ENDED_BY_SIGNAL = 128

# The messages with which mpirun (Open MPI 4 and 5), horovodrun and torchrun end, with their line breaks as spaces.
_SIGNAL = re.compile(r"noticed that process rank (\d+) .*?exited on signal (\d+)")
_CODE = re.compile(r"Process name: (?:\S*[\[,])?(\d+)\]? Exit code: (\d+)")
_ABORT = re.compile(r"MPI_ABORT was invoked on rank (\d+) .*?errorcode:? (\d+)", re.IGNORECASE)
# Its own code is 1, whatever the rank did.
_TORCH = re.compile(r"Root Cause .*?rank *: (\d+) \(local_rank: \d+\) exitcode *: (-?\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
        code: Exit code of the run.
        reason: The cause of its failure; `None` without one.
        stopped: Whether a signal, such as Ctrl-C, or a closed output ended it.
    """

    code: int
    reason: str | None
    stopped: bool = False

    @property
    def failed(self) -> bool:
        """Whether it ended by itself, without success."""
        return not self.stopped and self.code not in (0, STOPPED)


def supervise(
    command: Sequence[str],
    environment: dict[str, str],
    *,
    name: str,
    hides_traceback: bool = False,
    private: bool = False,
) -> Ending:
    """Run a launcher to its end, or until a signal or a closed output ends the run.

    `private` gives it a private network, which the kernel must allow.
    """
    family = Family()
    with caught_signals() as received, family.adopted():
        launcher = _start(command, environment, private)
        output = LauncherOutput(launcher, hides_traceback=hides_traceback)
        try:
            while launcher.poll() is None and not received and not output.reader_gone:
                output.forward(_PAUSE_SECONDS)
            status = launcher.poll()
        finally:
            family.end(launcher, output.forward)
            output.finish()
        request = received[0] if received else None
    if status is None:
        number = request or signal.SIGPIPE
        reason = f"ended by {number.name}" if request else "ended because its output was closed"
        return Ending(code=exit_code(-number), reason=f"{reason}, and every rank with it", stopped=True)
    if status == 0:
        return Ending(code=0, reason=None)
    reason = f"{what_ended_it(name, status, output.last_lines)}; no rank runs any more"
    blamed = _TORCH.search(" ".join(output.last_lines.split()))
    return Ending(code=exit_code(int(blamed[2]) if blamed else status), reason=reason)


def _start(command: Sequence[str], environment: dict[str, str], private: bool) -> subprocess.Popen[bytes]:
    def begin() -> None:
        if private:
            private_network.enter()
        # Afterwards, because the kernel forgets it with a change of the user's rights.
        end_with_parent()

    return subprocess.Popen(
        command,
        env=environment,
        # As in a pod, there is no terminal.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Ctrl-C goes to this program alone, which then ends the others in order.
        start_new_session=True,
        preexec_fn=begin,
    )


def exit_code(status: int) -> int:
    """Return the exit code for a status of Python's `subprocess`."""
    return status if status >= 0 else _ENDED_BY_SIGNAL - status


def what_ended_it(launcher: str, status: int, words: str) -> str:
    """Return which rank ended the run and how, if the launcher says so, else how the launcher ended.

    Its status is its exit code, or the negative number of the signal that ended it.
    """
    text = " ".join(words.split())
    if status < 0:
        return f"{launcher} {_how(exit_code(status))}"
    if found := _SIGNAL.search(text):
        return f"rank {found[1]} {_how(_ENDED_BY_SIGNAL + int(found[2]))}"
    if found := _TORCH.search(text):
        return f"rank {found[1]} {_how(exit_code(int(found[2])))}"
    if found := _CODE.search(text) or _ABORT.search(text):
        return f"rank {found[1]} {_how(int(found[2]))}"
    hint = f", as a rank that {_how(status)}" if _signal_name(status) else ""
    return f"{launcher} ended with {explained(status)}{hint}"


def _how(code: int) -> str:
    name = _signal_name(code)
    return f"was ended by {name}" if name else f"ended with {explained(code)}"


def _signal_name(code: int) -> str | None:
    try:
        return signal.Signals(code - _ENDED_BY_SIGNAL).name
    except ValueError:
        return None
