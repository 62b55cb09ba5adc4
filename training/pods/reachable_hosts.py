"""Print the workers that ranks can start on: those of the operator's discovery script whose sshd answers.

horovodrun --host-discovery-script "python -m training.pods.reachable_hosts /etc/mpi/discover_hosts.sh" …

The operator's script names a worker as soon as its pod runs. Horovod starts a rank there at once, and the others wait
for it: if ssh fails, all ranks end. This program prints a worker that has answered once for as long as the operator
names it, because a slow answer does not mean that the worker is lost.
"""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from training.runtime import command_line, files
from training.runtime.errors import USER_ERROR, UserError

#: The workers that have answered since the ranks were started.
ANSWERED = Path(tempfile.gettempdir()) / "reachable_hosts"

_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings of one run."""

    script: Path
    port: int
    """Port of the workers' sshd."""
    answered: Path
    """The file with the workers that have answered."""

    @classmethod
    def parse(cls, arguments: Sequence[str] | None = None) -> Self:
        """Return the settings of a command line."""
        parser = command_line.Parser(
            prog="python -m training.pods.reachable_hosts", description=(__doc__ or "").splitlines()[0]
        )
        add = parser.add_argument
        add("script", type=Path, help="the operator's discovery script")
        add("--port", type=command_line.whole_number(1, 65535), default=2222, help="of the workers' sshd (%(default)s)")
        add(
            "--answered",
            type=Path,
            default=ANSWERED,
            help="file for the workers that have answered (%(default)s)",
        )
        return cls(**vars(parser.parse_args(arguments)))


def no_answer(host: str, port: int) -> str | None:
    """Return why no sshd answers; None if one sends its name: an open port may be a proxy's."""
    try:
        with socket.create_connection((host, port), timeout=_SECONDS) as connection:
            connection.settimeout(_SECONDS)
            return None if connection.recv(4) == b"SSH-" else f"port {port} is open, but no sshd answers there"
    except socket.gaierror:
        return "its name does not resolve"
    except TimeoutError:
        return f"no answer on port {port} within {_SECONDS:g} s"
    except OSError as error:
        return f"{(error.strerror or str(error)).lower()} on port {port}"


def reachable(hosts: Sequence[str], port: int, answered: Path) -> list[str]:
    """Return the hosts that answer or have answered, in their order."""
    before = answered.read_text().split() if answered.exists() else []
    new = [host for host in hosts if host not in before]
    with ThreadPoolExecutor(max_workers=max(len(new), 1)) as pool:
        found = dict(zip(new, pool.map(lambda host: no_answer(host.partition(":")[0], port), new), strict=True))
    named = [host for host in hosts if found.get(host) is None]
    if named != before:
        files.write_atomically(answered, "".join(f"{host}\n" for host in named).encode())
    return named


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the hosts, one a line, and return the exit code; after a code other than 0 Horovod asks again."""
    try:
        settings = Settings.parse(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR
    try:
        script = subprocess.run([settings.script.absolute()], stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        print(f"error: {settings.script} cannot be run: {error.strerror}; give the operator's script", file=sys.stderr)
        return USER_ERROR
    for host in reachable(script.stdout.split(), settings.port, settings.answered):
        print(host)
    return script.returncode


if __name__ == "__main__":
    sys.exit(main())
