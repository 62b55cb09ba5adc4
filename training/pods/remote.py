"""Run a command on workers over ssh, on all at once and for a bounded time."""

import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from training.pods import first_process

_MOST_THREADS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The answer of a worker.

    Attributes:
        code: The command's exit code, 255 if ssh failed; None if the time was over.
        output: Its standard output.
        errors: Its standard error, with that of ssh.
        asked: The time when ssh started, in seconds since 1970.
        received: The time when ssh ended.
    """

    code: int | None
    output: str
    errors: str
    asked: float
    received: float


def run(hosts: Sequence[str], port: int, command: str, *, seconds: float) -> dict[str, Answer]:
    """Run a shell command on each host and return the answers.

    Args:
        hosts: Names of workers.
        port: Port of their sshd.
        command: For the shell of the worker's user.
        seconds: The time that each has.
    """
    with ThreadPoolExecutor(max_workers=max(1, min(len(hosts), _MOST_THREADS))) as pool:
        with first_process.signals_blocked():
            answers = pool.map(lambda host: _run(host, port, command, seconds), hosts)
        return dict(zip(hosts, answers, strict=True))


def _run(host: str, port: int, command: str, seconds: float) -> Answer:
    # As for mpirun's sessions: the cluster's DNS may need some seconds for a name. ssh must ask nothing.
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ConnectionAttempts=10", "-p", str(port)]
    asked = time.time()
    try:
        done = subprocess.run(
            ["ssh", *options, host, command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        code, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, output, errors = None, late.stdout or b"", late.stderr or b""
    except OSError as error:
        code, output, errors = 255, b"", f"ssh cannot be run: {error.strerror}".encode()
    return Answer(
        code=code,
        output=output.decode(errors="replace"),
        errors=errors.decode(errors="replace"),
        asked=asked,
        received=time.time(),
    )
