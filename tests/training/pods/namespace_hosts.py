"""Hosts in network namespaces, as SageMaker has them: names, files below /opt/ml, and a process namespace for each.

Each host has an interface `eth0` at a bridge, /etc/hosts with all names, and its own folder at /opt/ml. The first
process of a host is the entry point, as in a container: the kernel ends all others with it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.training.mpirun import PATIENCE, ROOT
from training.pods.host_reports import KEY

_PROGRAMS = ("ip", "mount", "unshare")

#: For a rank alone on its host: the threads of one of two ranks of mpirun on this machine, which share its cores. With
#: other threads sums are added in another order.
THREADS_OF_TWO = {"TF_NUM_INTRAOP_THREADS": str(max(1, (os.cpu_count() or 1) // 2))}

# In the namespaces of a host: nothing of it is seen outside.
_BEGIN = """
set -e
mount --make-rprivate /
mount --bind "$FOLDER/hosts" /etc/hosts
mount -t tmpfs none /opt
mkdir /opt/ml
mount --bind "$FOLDER/ml" /opt/ml
if [ "$FULL" ]; then
    mount -t tmpfs -o size=4m none "/opt/ml/$FULL"
    head -c "$((4096 - ROOM))k" /dev/zero >"/opt/ml/$FULL/all" 2>/dev/null || true
fi
hostname "$NAME"
exec "$@"
"""


def why_not() -> str | None:
    """Return why this machine cannot have such hosts; None if it can."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} is missing"
    tried = subprocess.run(["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "true"], capture_output=True)
    return None if tried.returncode == 0 else "only root can make namespaces"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass
class NamespaceHost:
    """One host.

    Attributes:
        name: As the others know it.
        folder: Its /opt/ml is in the folder `ml`; `log` is its output.
        namespace: Namespace of its network.
        port: The bridge's end of its cable.
    """

    name: str
    folder: Path
    namespace: str
    port: str
    process: "subprocess.Popen[bytes] | None" = None
    ended: float | None = None

    @property
    def ml(self) -> Path:
        """Its /opt/ml."""
        return self.folder / "ml"

    @property
    def log(self) -> str:
        """Its output so far."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def failure(self) -> str:
        """What SageMaker shows as the reason of a failure."""
        path = self.ml / "output/failure"
        return path.read_text() if path.exists() else ""

    def start(self, *words: str, full: str = "", room_kib: int = 0, variables: dict[str, str] | None = None) -> None:
        """Start the entry point; its output is in a file.

        Args:
            words: Its options and the program.
            full: A folder of /opt/ml that is a full disk.
            room_kib: What this disk still takes.
            variables: More environment.
        """
        namespaces = ["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"]
        entry = [sys.executable, "-m", "training.pods.sagemaker", *words]
        settings = {"FOLDER": str(self.folder), "NAME": self.name, "FULL": full, "ROOM": str(room_kib)}
        settings[KEY] = "a key of the job"
        self.ended = None
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *namespaces, "sh", "-c", _BEGIN, "sh", *entry],
                cwd=ROOT,
                env=os.environ | settings | (variables or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def entry(self) -> psutil.Process:
        """The entry point's process."""
        assert self.process
        (found,) = psutil.Process(self.process.pid).children()
        return found

    @property
    def ranks(self) -> list[psutil.Process]:
        """The processes that it has started."""
        return list(self.entry.children(recursive=True))

    def send(self, number: int) -> None:
        """Send the entry point a signal; SIGKILL ends the host."""
        self.entry.send_signal(number)

    def cut(self) -> None:
        """Cut its cable: what it sends, and what is sent to it, is lost without a word."""
        _ip("-n", self.namespace.rpartition("-")[0], "link", "set", self.port, "down")

    def wait_for(self, text: str) -> None:
        """Wait for a line in its output."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.log:
            assert self.process is None or self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.05)


@dataclass
class NamespaceHosts:
    """Some hosts at one bridge."""

    folder: Path
    count: int
    hosts: list[NamespaceHost] = field(default_factory=list)

    def __enter__(self) -> "NamespaceHosts":
        """Make the namespaces."""
        bridge = f"sm{os.getpid()}"
        names = [f"algo-{number + 1}" for number in range(self.count)]
        addresses = {name: f"10.213.7.{number + 1}" for number, name in enumerate(names)}
        _ip("netns", "add", bridge)
        _ip("-n", bridge, "link", "add", "bridge", "type", "bridge")
        _ip("-n", bridge, "link", "set", "bridge", "up")
        for number, name in enumerate(names):
            host = NamespaceHost(name, self.folder / name, f"{bridge}-{number}", f"port{number}")
            self.hosts.append(host)
            _ip("netns", "add", host.namespace)
            _ip("-n", bridge, "link", "add", host.port, "type", "veth", "peer", "eth0", "netns", host.namespace)
            _ip("-n", bridge, "link", "set", host.port, "master", "bridge", "up")
            _ip("-n", host.namespace, "address", "add", f"{addresses[name]}/24", "dev", "eth0")
            for interface in ("lo", "eth0"):
                _ip("-n", host.namespace, "link", "set", interface, "up")
            config = host.ml / "input/config"
            config.mkdir(parents=True)
            for folder in ("checkpoints", "output", "model"):
                (host.ml / folder).mkdir()
            known = "".join(f"{address} {each}\n" for each, address in addresses.items())
            (host.folder / "hosts").write_text(f"127.0.0.1 localhost\n{known}")
            resources = {"current_host": name, "hosts": names, "network_interface_name": "eth0"}
            (config / "resourceconfig.json").write_text(json.dumps(resources))
        return self

    def hyperparameters(self, **values: str) -> None:
        """Give the job hyperparameters; an underscore is a dash."""
        text = json.dumps({name.replace("_", "-"): value for name, value in values.items()})
        for host in self.hosts:
            (host.ml / "input/config/hyperparameters.json").write_text(text)

    def codes(self) -> list[int | None]:
        """Wait until all have ended, and return their exit codes; None for one that was not started."""
        deadline = time.monotonic() + PATIENCE
        running = [host for host in self.hosts if host.process]
        while not all(host.ended for host in running):
            for host in running:
                if host.process and host.process.poll() is not None:
                    host.ended = host.ended or time.monotonic()
            assert time.monotonic() < deadline, "\n".join(host.log for host in self.hosts)
            time.sleep(0.05)
        return [host.process.returncode if host.process else None for host in self.hosts]

    def __exit__(self, *_: object) -> None:
        """End the processes that run, and remove the namespaces."""
        for host in self.hosts:
            if host.process and host.process.poll() is None:
                host.process.send_signal(signal.SIGKILL)
            if host.process:
                host.process.wait(timeout=PATIENCE)
        bridge = f"sm{os.getpid()}"
        for namespace in [*(host.namespace for host in self.hosts), bridge]:
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)
