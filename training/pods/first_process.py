"""The duties of a container's first process: forward stop requests, and reap orphans.

The kernel drops a signal that the first process neither handles nor blocks, and no other process takes the exit status
of an orphan.
"""

import errno
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from training.runtime.errors import UserError

#: A stop request, as a container's first process gets it: Kubernetes sends the first, Ctrl-C the second.
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

#: The exit code of a process that a signal ended is the signal's number plus this, as in a shell.
SIGNAL_CODES = 128

_WAITED_FOR = (*STOP_SIGNALS, signal.SIGCHLD)

# A script without `#!`, or of an interpreter that does not exist or may not be run; a binary of another architecture.
_NOT_A_PROGRAM = (errno.ENOEXEC, errno.ENOENT, errno.EACCES)


def command_like(example: str) -> Callable[[Sequence[str]], tuple[str, ...]]:
    """Return the parser of a program and its arguments.

    Args:
        example: A program that would be valid, for the message.
    """

    def parse(words: Sequence[str]) -> tuple[str, ...]:
        if not words or not shutil.which(words[0]):
            raise UserError(
                f"the command is {' '.join(words)!r}; give a program of the image after '--', such as {example}"
            )
        return tuple(words)

    return parse


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block the signals that a `Child` waits for; threads that start meanwhile keep them blocked until they end.

    The kernel gives a signal to any thread that does not block it. A joined thread may still be about to exit, for
    milliseconds on a busy machine. It would take a stop signal that the main thread blocks and waits for, and the
    main thread would run the signal's handler instead of forwarding it; or SIGCHLD, and the main thread would wait
    for ever for a program that has ended.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _spawn(command: Sequence[str], outputs: Sequence[int], mask: Iterable[int]) -> int:
    return os.posix_spawnp(
        command[0],
        tuple(command),
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, output, number) for number, output in enumerate(outputs, 1)],
        setsigmask=mask,
        # Python ignores these two. The program would inherit that, as it would the blocked signals.
        setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
    )


class Child:
    """The program that this process runs.

    Attributes:
        pid: Its process number.
        code: Its exit code, or 128 plus the number of the signal that ended it; None while it runs.
    """

    def __init__(self, command: Sequence[str], outputs: Sequence[int] = ()) -> None:
        """Start the program. From now on, stop requests wait until `wait_for_stop_request` takes them.

        Every other thread of this process must block the stop signals: start threads within `signals_blocked`.

        Args:
            command: The program and its arguments.
            outputs: The file descriptors of its standard output and standard error. Default: those of this process.

        Raises:
            UserError: The kernel cannot run the program.
        """
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
        try:
            self.pid = _spawn(command, outputs, self._before)
        except OSError as error:
            self.unblock_signals()
            if error.errno not in _NOT_A_PROGRAM:
                raise
            raise UserError(
                f"{command[0]!r} cannot be run: {error.strerror}; give a script whose first line names its "
                "interpreter, such as '#!/bin/sh', or a binary for this machine's architecture"
            ) from error
        self.code: int | None = None
        self._lock = threading.Lock()

    def wait_for_stop_request(self) -> bool:
        """Wait for a stop request or for the program's end; return whether it was a stop request."""
        while self.code is None:
            if signal.sigwait(_WAITED_FOR) in STOP_SIGNALS:
                return True
            self.reap()
        return False

    def unblock_signals(self) -> None:
        """Give signals to their handlers again, as before the program started; call it after the program's end."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def send(self, number: signal.Signals) -> None:
        """Send the program a signal, unless it has ended; any thread may call it."""
        # No other process gets its PID before its exit status is taken.
        with self._lock:
            if self.code is None:
                os.kill(self.pid, number)

    def reap(self) -> None:
        """Take the exit status of every child that has ended."""
        with self._lock, suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.pid:
                    code = os.waitstatus_to_exitcode(ended[1])
                    self.code = code if code >= 0 else SIGNAL_CODES - code
