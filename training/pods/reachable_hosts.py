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

from training.runtime import command_line, files, options
from training.runtime.command_line import whole_number
from training.runtime.errors import UserError
from training.runtime.options import option

#: The workers that have answered since the ranks were started.
ANSWERED = Path(tempfile.gettempdir()) / "reachable_hosts"

_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    script: Path = option(Path, "the operator's discovery script", positional=True)
    port: int = option(whole_number(1, 65535), "of the workers' sshd", default=2222)
    answered: Path = option(Path, "file for the workers that have answered", default=ANSWERED)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.pods.reachable_hosts", __doc__, arguments)


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


def run(settings: Settings) -> int:
    """Print the hosts, one a line, and return the exit code; after a code other than 0 Horovod asks again."""
    try:
        script = subprocess.run([settings.script.absolute()], stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise UserError(f"{settings.script} cannot be run: {error.strerror}; give the operator's script") from error
    for host in reachable(script.stdout.split(), settings.port, settings.answered):
        print(host)
    return script.returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return command_line.exit_code(lambda: run(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
