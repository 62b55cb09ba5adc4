"""Pods as processes of this machine: each with its own network, address, name and process 1, on one file system.

A pod is lost with all its processes at once, as with its node. Its network stays, so that the next pod of the same name
has the same address; on Kubernetes that is another one, which the name resolves to.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.training.mpirun import PATIENCE, ROOT

# $1: name, $2: its hosts, $3: what else to mount; then the command, as process 1.
_CONTAINER = 'hostname "$1"; mount --bind "$2" /etc/hosts; eval "$3"; shift 3; exec "$@"'


def missing() -> str:
    """Return why there can be no pods here; empty where there can."""
    if os.getuid() != 0:
        return "network namespaces need root"
    absent = [program for program in ("ip", "unshare", "nsenter") if shutil.which(program) is None]
    return f"missing: {', '.join(absent)}" if absent else ""


@dataclass
class Start:
    """The processes of one pod."""

    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def text(self) -> str:
        """All that it has printed."""
        return self.log.read_text()

    def lose(self) -> None:
        """Kill all its processes at once."""
        self.process.kill()
        self.process.wait()


@dataclass
class Pods:
    """The pods of a job.

    Attributes:
        folder: Folder of their output, and of the file of their names.
    """

    folder: Path
    _namespaces: Mapping[str, str]
    _starts: list[Start] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str], variables: Mapping[str, str], mounts: str = "") -> Start:
        """Start the processes of a pod.

        Args:
            name: Name of the pod.
            command: Command of its container.
            variables: Variables of its container.
            mounts: Shell commands before.
        """
        log = self.folder / f"{name}-{len(self._starts)}.log"
        isolated = ["unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        container = ["sh", "-c", _CONTAINER, "sh", name, str(self.folder / "hosts"), mounts, *command]
        with log.open("wb") as stream:
            process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self._namespaces[name]}", *isolated, *container],
                cwd=ROOT,
                env=os.environ | dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        self._starts.append(Start(process, log))
        return self._starts[-1]

    def codes(self, starts: Sequence[Start]) -> list[int]:
        """Return the exit codes of pods as soon as all have ended; they may take as long as they print lines."""
        printed, deadline = "", time.monotonic() + PATIENCE
        while any(each.process.poll() is None for each in starts):
            if (now := "".join(each.text for each in starts)) != printed:
                printed, deadline = now, time.monotonic() + PATIENCE
            assert time.monotonic() < deadline, f"still running\n{self.ends()}"
            time.sleep(0.1)
        return [each.process.returncode for each in starts]

    def wait_until(self, reached: Callable[[], object], what: str) -> None:
        """Return as soon as something is so."""
        deadline = time.monotonic() + PATIENCE
        while not reached():
            assert time.monotonic() < deadline, f"not in time: {what}\n{self.ends()}"
            time.sleep(0.1)

    def ends(self) -> str:
        """Return the last lines of each start, for a failed test."""
        return "\n".join(f"--- {each.log.name}\n{each.text[-3000:]}" for each in self._starts)

    def lose_all(self) -> None:
        """End the processes that are left."""
        for each in self._starts:
            each.lose()


@contextmanager
def pods(names: Sequence[str], folder: Path) -> Iterator[Pods]:
    """Connect pods of these names by a separate network, and lose them in the end."""
    prefix = f"pods-{os.getpid()}"
    switch = f"{prefix}-switch"
    namespaces = {name: f"{prefix}-{name}" for name in names}
    with ExitStack() as stack:
        for namespace in (switch, *namespaces.values()):
            _ip("netns", "add", namespace)
            stack.callback(_ip, "netns", "del", namespace)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        hosts = ["127.0.0.1 localhost"]
        for number, (name, namespace) in enumerate(namespaces.items(), 2):
            _connect(namespace, switch, port=f"port{number}", address=f"10.213.0.{number}")
            hosts.append(f"10.213.0.{number} {name}")
        (folder / "hosts").write_text("\n".join([*hosts, ""]))
        made = Pods(folder, namespaces)
        stack.callback(made.lose_all)
        yield made


def _connect(namespace: str, switch: str, *, port: str, address: str) -> None:
    peer = ["peer", "name", port, "netns", switch]
    _ip("-n", namespace, "link", "add", "eth0", "type", "veth", *peer)
    _ip("-n", switch, "link", "set", port, "master", "bridge", "up")
    _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        _ip("-n", namespace, "link", "set", device, "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
