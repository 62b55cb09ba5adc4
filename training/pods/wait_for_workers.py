"""Waits until the sshd of every worker answers, runs the program that needs them, and lets its ranks end in order.

python -m training.pods.wait_for_workers /etc/mpi/hostfile -- mpirun …

The operator waits too, but not for a job that was suspended: there it creates the launcher before the workers, and
mpirun fails (https://github.com/kubeflow/mpi-operator/issues/615). Nor for a launcher that is started again.

A launcher that is to go gets SIGTERM, at which mpirun would kill the ranks after a second. Here it becomes SIGUSR1,
which mpirun hands on to every rank: they save their state and end, and then mpirun does.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from training.pods import first_process
from training.pods.first_process import Child
from training.pods.reachable_hosts import answers
from training.runtime import command_line
from training.runtime.errors import UserError

_PAUSE_SECONDS = 2.0
_REMIND_SECONDS = 60.0

# Programs that hand SIGUSR1 on to their ranks. Another, such as a judge of mpirun's output, would die of it.
_HANDS_ON = ("mpirun", "mpiexec")


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line; what stands after '--' becomes `command`."""
    parser = command_line.Parser(
        prog="python -m training.pods.wait_for_workers", description=(__doc__ or "").splitlines()[0]
    )
    add = parser.add_argument
    add("hostfile", type=Path, help="the operator's: a name at the start of each line")
    add("--port", type=command_line.whole_number(1, 65535), default=2222, help="of the workers' sshd (%(default)s)")
    add("command", nargs=argparse.REMAINDER, help="-- mpirun …")
    given = parser.parse_args(arguments)
    given.command = first_process.command_of(given.command, "mpirun")
    return given


def read_hosts(hostfile: Path) -> list[str]:
    """The names in a hostfile, without their slots.

    Raises:
        UserError: The file cannot be read, or names nobody.
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
    """Returns when all hosts have answered; the job's deadline is the only end of the waiting."""
    missing, told, said_at = list(hosts), None, 0.0
    with ThreadPoolExecutor(max_workers=min(len(hosts), 64)) as pool:
        while True:
            answered = pool.map(lambda host: answers(host, port), missing)
            missing = [host for host, there in zip(missing, answered, strict=True) if not there]
            if not missing:
                return
            if len(missing) != told or time.monotonic() - said_at > _REMIND_SECONDS:
                told, said_at = len(missing), time.monotonic()
                print(f"waiting for {told} of {len(hosts)} workers, such as {missing[0]}", flush=True)
            time.sleep(_PAUSE_SECONDS)


def run(command: Sequence[str]) -> int:
    """Runs the program to its end and returns its exit code; a request to end is handed on to its ranks."""
    program = Child(command)
    request = signal.SIGUSR1 if Path(command[0]).name in _HANDS_ON else signal.SIGTERM
    while program.asked_to_end():
        print(f"asked to end: sends {request.name} to {command[0]} and waits for its ranks", flush=True)
        program.send(request)
    return program.code or 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to the program's exit code."""
    # The first process of a container is not ended by a signal that it does not handle.
    for request in first_process.REQUESTS:
        signal.signal(request, lambda number, _: os._exit(first_process.SIGNAL_CODES + number))
    try:
        given = parse_options(arguments)
        wait(read_hosts(given.hostfile), given.port)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    return run(given.command)


if __name__ == "__main__":
    sys.exit(main())
