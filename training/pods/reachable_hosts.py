"""Names the workers that ranks can be started on: those of the operator's discovery script whose sshd answers.

horovodrun --host-discovery-script "python -m training.pods.reachable_hosts /etc/mpi/discover_hosts.sh" …

The operator's script names a worker as soon as its pod runs. Horovod starts a rank there at once and makes the others
wait for it: if ssh fails, all of them end. A worker that has answered once is named for as long as the operator names
it, because a slow answer must not count as a worker that is lost.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from training.runtime import command_line, files
from training.runtime.errors import UserError

_SECONDS = 2.0


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line."""
    parser = command_line.Parser(
        prog="python -m training.pods.reachable_hosts", description=(__doc__ or "").splitlines()[0]
    )
    add = parser.add_argument
    add("script", type=Path, help="the operator's discovery script")
    add("--port", type=command_line.whole_number(1, 65535), default=2222, help="of the workers' sshd (%(default)s)")
    add(
        "--answered",
        type=Path,
        default=Path(tempfile.gettempdir()) / "reachable_hosts",
        help="file to note who has answered in (%(default)s)",
    )
    return parser.parse_args(arguments)


def answers(host: str, port: int) -> bool:
    """Whether an sshd says its name there: a port that is open may be a proxy's."""
    try:
        with socket.create_connection((host, port), timeout=_SECONDS) as connection:
            connection.settimeout(_SECONDS)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def reachable(hosts: Sequence[str], port: int, answered: Path) -> list[str]:
    """Returns the hosts that answer or have answered, in their order."""
    before = answered.read_text().split() if answered.exists() else []
    new = [host for host in hosts if host not in before]
    with ThreadPoolExecutor(max_workers=max(len(new), 1)) as pool:
        found = dict(zip(new, pool.map(lambda host: answers(host.partition(":")[0], port), new), strict=True))
    named = [host for host in hosts if found.get(host, True)]
    if named != before:
        files.write_atomically(answered, "".join(f"{host}\n" for host in named).encode())
    return named


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to the hosts, one on a line; Horovod asks again after a code other than 0."""
    try:
        given = parse_options(arguments)
        script = subprocess.run([given.script.absolute()], stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        print(f"error: {given.script} cannot be run: {error.strerror}; give the operator's script", file=sys.stderr)
        return 2
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for host in reachable(script.stdout.split(), given.port, given.answered):
        print(host)
    return script.returncode


if __name__ == "__main__":
    sys.exit(main())
