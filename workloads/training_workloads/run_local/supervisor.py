"""Start a launcher, forward its output, say what ended it, and end every process of the run."""

import contextlib
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from training_workloads.mpijob.programs import STOPPED, explained
from training_workloads.run_local import private_network
from training_workloads.run_local.process_family import Family, caught_signals, end_with_parent, send
from training_workloads.run_local.rank_lines import LauncherOutput
from training_workloads.terminal import say

__all__ = ["Ending", "exit_code", "supervise", "what_ended_it"]

# Between two checks of whether the launcher has ended.
_PAUSE_SECONDS = 0.02

# How long after its ranks a launcher may wait for what they have left running, before the user reads of it, and before
# that is ended. A launcher ends when no process holds the output of a rank open; one that uploads may need its time.
_SILENT_SECONDS = 5.0
_LEFT_BEHIND_SECONDS = 30.0
_LOOK_SECONDS = 1.0
_COMMAND_LETTERS = 80

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
        left_behind = _LeftBehind(family, launcher, name)
        try:
            while launcher.poll() is None and not received and not output.reader_gone:
                output.forward(_PAUSE_SECONDS)
                left_behind.check()
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


class _LeftBehind:
    """The processes that ranks have left running, which keep the launcher from its end."""

    def __init__(self, family: Family, launcher: subprocess.Popen[bytes], name: str) -> None:
        self._family, self._launcher, self._name = family, launcher, name
        self._since, self._is_named = time.monotonic(), False
        self._looked = self._since

    def check(self) -> None:
        """Name them after some seconds, and end them after more."""
        # To look for processes takes milliseconds.
        if time.monotonic() < self._looked + _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        left = self._family.left_behind(self._launcher)
        seconds = self._looked - self._since
        if not left:
            self._since, self._is_named = self._looked, False
        elif seconds > _LEFT_BEHIND_SECONDS:
            say(f"run-local: ends {_named(left)}, {_LEFT_BEHIND_SECONDS:.0f} s after the last rank", error=True)
            send(left, signal.SIGKILL)
        elif seconds > _SILENT_SECONDS and not self._is_named:
            waits = f"every rank has ended, and {self._name} waits for {_named(left)}, which a rank has left running"
            fix = "end it in the program, or start it with stdout=subprocess.DEVNULL and stderr=subprocess.DEVNULL"
            seconds_left = f"it is ended in {_LEFT_BEHIND_SECONDS - seconds:.0f} s"
            say(f"run-local: {waits}; {seconds_left}; {fix}", error=True)
            self._is_named = True


def _named(processes: Sequence[psutil.Process]) -> str:
    names = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            names.append(f"process {process.pid} ({shlex.join(process.cmdline())[:_COMMAND_LETTERS]})")
    return " and ".join(names) or "processes that have just ended"


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
