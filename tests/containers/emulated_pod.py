"""Pods in podman: as in the kubelet, a sandbox that keeps its address, and a container that can restart."""

import socket
import time
from pathlib import Path

import psutil

from tests.containers.pod_spec import PodSpec
from tests.containers.podman import Podman


class Pod:
    """A pod that exists until it is removed.

    Attributes:
        name: Its name.
        starts: The number of starts of its container.
    """

    def __init__(self, podman: Podman, network: str, spec: PodSpec, logs: Path) -> None:
        spec.check()
        self.name = spec.name
        self.starts = 0
        self._podman = podman
        self._spec = spec
        self._logs = logs
        self._container = f"{spec.name}.{spec.container['name']}"
        self._ended: tuple[int, float] | None = None
        podman("pod", "create", "--name", spec.name, "--network", network, *spec.sandbox_arguments())
        podman("pod", "start", self.name)
        self.start()

    def start(self) -> None:
        """Start the container, or a new one after it ended."""
        if self.starts:
            self._podman("rm", self._container)
        self.starts += 1
        self._ended = None
        # Empty at each start, and writable for any user.
        self._spec.termination_log.write_text("")
        self._spec.termination_log.chmod(0o666)
        log = f"path={self._log(self.starts)}"
        self._podman(
            *("run", "--detach", "--pull", "never", "--pod", self.name, "--name", self._container),
            *("--log-driver", "k8s-file", "--log-opt", log, *self._spec.container_arguments()),
        )

    def kill(self) -> None:
        """Kill every process of the container at once, as the kernel does when memory runs out."""
        self._podman("kill", "--signal", "KILL", self._container)

    def stop(self) -> None:
        """Send SIGTERM to the container's first process, as the kubelet does, and kill it after its grace period."""
        self._podman("stop", self._container)

    def remove(self) -> None:
        """Remove the pod and keep its log."""
        self._podman("pod", "rm", "--force", "--time", "0", self.name)

    def exit_code(self) -> int | None:
        """Return the container's exit code, or None while it runs."""
        if self._ended is None:
            form = "{{.State.Running}} {{.State.ExitCode}}"
            running, code = self._podman("container", "inspect", "--format", form, self._container).split()
            if running == "true":
                return None
            self._ended = int(code), time.monotonic()
        return self._ended[0]

    def seconds_since_end(self) -> float:
        """Return the seconds since the end of the container was noticed."""
        return 0.0 if self._ended is None else time.monotonic() - self._ended[1]

    def ready(self) -> bool:
        """Return whether the readiness probe passes; without a probe, whether the container runs."""
        probe = self._spec.container.get("readinessProbe")
        if self.exit_code() is not None or probe is None:
            return self.exit_code() is None
        try:
            socket.create_connection((self._address(), probe["tcpSocket"]["port"]), timeout=1).close()
        except OSError:
            return False
        return True

    def log(self) -> str:
        """Return the output of this pod's containers, both streams in their order."""
        lines = []
        for number in range(1, self.starts + 1):
            path = self._log(number)
            lines += path.read_text(errors="replace").splitlines() if path.exists() else []
        # Each line is: time, stream, F for a full or P for a part of a line, text.
        parts = [line.split(" ", 3) for line in lines]
        return "".join(part[3] + ("\n" if part[2] == "F" else "") for part in parts if len(part) == 4)

    def termination_message(self) -> str:
        """Return the reason that the container has written, as `kubectl` shows it."""
        return self._spec.termination_log.read_text()

    def execute(self, *command: str) -> str:
        """Run a command in the container and return its output."""
        return self._podman("exec", self._container, *command)

    def processes(self) -> list[psutil.Process]:
        """Return the processes of the container with this machine's PIDs."""
        _, *numbers = self._podman("top", self._container, "hpid").splitlines()
        return [psutil.Process(int(number)) for number in numbers if psutil.pid_exists(int(number))]

    def _address(self) -> str:
        infra = self._podman("pod", "inspect", "--format", "{{.InfraContainerID}}", self.name)
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return self._podman("container", "inspect", "--format", form, infra)

    def _log(self, number: int) -> Path:
        return self._logs / f"{self.name}.{number}.log"
