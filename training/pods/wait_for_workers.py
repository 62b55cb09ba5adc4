"""Wait until every worker's sshd answers, run the launch command, and end its ranks in order.

python -m training.pods.wait_for_workers /etc/mpi/hostfile -- mpirun …

The operator waits for the workers too, but not in two cases: it creates the launcher of a resumed job before the
workers, and mpirun fails (https://github.com/kubeflow/mpi-operator/issues/615); and it does not wait for a launcher
that restarts.

Kubernetes ends a launcher with SIGTERM, at which mpirun would kill the ranks after a second. This program sends mpirun
SIGUSR1 instead. mpirun forwards it to every rank; the ranks save a checkpoint and end, and then mpirun ends.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from training.pods import first_process
from training.pods.first_process import Child
from training.pods.reachable_hosts import answers
from training.runtime import command_line
from training.runtime.errors import USER_ERROR, UserError

_PAUSE_SECONDS = 2.0
_REMIND_SECONDS = 60.0

# Programs that forward SIGUSR1 to their ranks. The signal would end another one, such as a check of mpirun's output.
_FORWARDS_SIGUSR1 = ("mpirun", "mpiexec")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings of one run."""

    hostfile: Path
    port: int
    """Of the workers' sshd."""
    command: tuple[str, ...]

    @classmethod
    def parse(cls, arguments: Sequence[str] | None = None) -> Self:
        """Return the settings of a command line; the words after '--' become `command`."""
        parser = command_line.Parser(
            prog="python -m training.pods.wait_for_workers", description=(__doc__ or "").splitlines()[0]
        )
        add = parser.add_argument
        add("hostfile", type=Path, help="the operator's: a name at the start of each line")
        add("--port", type=command_line.whole_number(1, 65535), default=2222, help="of the workers' sshd (%(default)s)")
        add("command", nargs=argparse.REMAINDER, help="-- mpirun …")
        given = vars(parser.parse_args(arguments))
        return cls(**given | {"command": first_process.command_of(given["command"], "mpirun")})


def read_hosts(hostfile: Path) -> list[str]:
    """Return the names in a hostfile, without their slots.

    Raises:
        UserError: The file cannot be read, or has no name.
    """
    try:
        lines = hostfile.read_text().splitlines()
    except OSError as error:
        raise UserError(f"{hostfile} cannot be read: {error.strerror}; give the operator's hostfile") from error
    hosts = [line.split()[0].partition(":")[0] for line in lines if line.strip() and not line.startswith("#")]
    if not hosts:
        raise UserError(f"{hostfile} names no worker; give the operator's hostfile")
    return hosts


def wait(hosts: Sequence[str], port: int) -> None:
    """Return when all hosts have answered; only the job's deadline limits the time."""
    missing, reported, reported_at = list(hosts), None, 0.0
    with ThreadPoolExecutor(max_workers=min(len(hosts), 64)) as pool:
        while True:
            with first_process.stop_signals_blocked():
                answered = pool.map(lambda host: answers(host, port), missing)
            missing = [host for host, has_answered in zip(missing, answered, strict=True) if not has_answered]
            if not missing:
                return
            if len(missing) != reported or time.monotonic() - reported_at > _REMIND_SECONDS:
                reported, reported_at = len(missing), time.monotonic()
                print(f"waiting for {reported} of {len(hosts)} workers, such as {missing[0]}", flush=True)
            time.sleep(_PAUSE_SECONDS)


def run(command: Sequence[str]) -> int:
    """Run the launch command and return its exit code; forward stop requests to its ranks."""
    program = Child(command)
    forwarded = signal.SIGUSR1 if Path(command[0]).name in _FORWARDS_SIGUSR1 else signal.SIGTERM
    while program.wait_for_stop_request():
        print(f"stop request: sends {forwarded.name} to {command[0]} and waits for its ranks", flush=True)
        program.send(forwarded)
    return program.code or 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    # The kernel drops a signal that a container's first process does not handle.
    for number in first_process.STOP_SIGNALS:
        signal.signal(number, lambda received, _: os._exit(first_process.SIGNAL_CODES + received))
    try:
        settings = Settings.parse(arguments)
        wait(read_hosts(settings.hostfile), settings.port)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return USER_ERROR
    return run(settings.command)


if __name__ == "__main__":
    sys.exit(main())
