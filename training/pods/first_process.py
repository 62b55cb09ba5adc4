"""What the first process of a container owes the others in it: to hand on the request to end, and to reap orphans.

The kernel drops a signal to it that it neither handles nor blocks, and nobody else takes the exit status of a process
whose parent is gone.
"""

import os
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress

from training.runtime.errors import UserError

#: What asks a process to end: Kubernetes sends the first, Ctrl-C the second.
REQUESTS = (signal.SIGTERM, signal.SIGINT)

#: The exit code of a process that a signal ended is the signal's number and this, as shells count it.
SIGNAL_CODES = 128

_WAITED_FOR = (*REQUESTS, signal.SIGCHLD)


def command_of(words: Sequence[str], example: str) -> list[str]:
    """Takes a program's words from the command line, where they stand after '--'.

    Args:
        words: What is left of the command line.
        example: A program that would do, for the message.

    Raises:
        UserError: There is none, or its program is not there.
    """
    command = list(words[1:] if words[:1] == ["--"] else words)
    if not command or not shutil.which(command[0]):
        raise UserError(
            f"the command is {' '.join(command)!r}; give a program of the image after '--', such as {example}"
        )
    return command


class Child:
    """The program that this process is there for.

    Attributes:
        code: Its exit code, or 128 and the number of the signal that it died of; None while it runs.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Starts it; signals that ask this process to end wait from now on until `asked_to_end` takes them."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
        # Python ignores these two, which the program would inherit as it would the blocked ones.
        normal = (signal.SIGPIPE, signal.SIGXFSZ)
        self._pid = os.posix_spawnp(command[0], command, os.environ, setsigmask=before, setsigdef=normal)
        self.code: int | None = None

    def asked_to_end(self) -> bool:
        """Waits until this process is asked to end, which is true, or until the program has ended."""
        while self.code is None:
            if signal.sigwait(_WAITED_FOR) in REQUESTS:
                return True
            self.reap()
        return False

    def send(self, number: signal.Signals) -> None:
        """Sends the program a signal; nothing happens where it has ended."""
        # Until its exit status is taken, its number belongs to no other process.
        if self.code is None:
            os.kill(self._pid, number)

    def reap(self) -> None:
        """Takes the exit status of every child that has ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    code = os.waitstatus_to_exitcode(ended[1])
                    self.code = code if code >= 0 else SIGNAL_CODES - code
