"""Waits until the sshd of every worker answers, and becomes the program that needs them.

python -m training.wait_for_workers /etc/mpi/hostfile -- mpirun …

The operator does so too, but not for a job that was suspended: there it creates the launcher before the workers, and
mpirun fails (https://github.com/kubeflow/mpi-operator/issues/615). Nor for a launcher that is started again.
"""

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from training import options
from training.errors import UserError
from training.reachable_hosts import answers

_PAUSE_SECONDS = 2.0
_REMIND_SECONDS = 60.0

# As shells count it: 128 + SIGTERM.
_TERMINATED = 143


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line; what stands after '--' becomes `command`."""
    parser = options.Parser(prog="python -m training.wait_for_workers", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("hostfile", type=Path, help="the operator's: a name at the start of each line")
    add("--port", type=options.whole_number(1, 65535), default=2222, help="of the workers' sshd (%(default)s)")
    add("command", nargs=argparse.REMAINDER, help="-- mpirun …")
    given = parser.parse_args(arguments)
    given.command = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not given.command or not shutil.which(given.command[0]):
        raise UserError(
            f"the command is {' '.join(given.command)!r}; give a program of the image after '--', such as mpirun"
        )
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to the program, which takes this one's place."""
    # The first process of a container is not ended by a signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(_TERMINATED))
    try:
        given = parse_options(arguments)
        wait(read_hosts(given.hostfile), given.port)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    os.execvp(given.command[0], given.command)


if __name__ == "__main__":
    sys.exit(main())
