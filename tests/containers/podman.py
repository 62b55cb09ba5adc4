"""Podman with separate settings, storage and networks: the user's podman is not affected."""

import os
import shutil
import subprocess
import zlib
from pathlib import Path

PROGRAMS = ("apt-get", "conmon", "debootstrap", "iptables", "podman", "runc", "unshare")
NETWORK_HELPERS = ("aardvark-dns", "netavark")
HELPER_FOLDERS = ("/usr/libexec/podman", "/usr/lib/podman")
SYSTEM_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"

# The defaults set more open files and processes than a machine without systemd may have.
CONTAINERS_CONF = """\
[containers]
base_hosts_file = "none"
default_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "runc"
tmp_dir = "{run}/libpod"
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
"""
# Without skip_mount_home the storage stays a mount, which `make clean` cannot remove.
STORAGE_CONF = """\
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{run}/storage"
[storage.options.overlay]
skip_mount_home = "true"
"""


def why_not() -> str | None:
    """Return the reason why this machine cannot run containers, or None."""
    reasons = []
    missing = [name for name in PROGRAMS if not shutil.which(name, path=SYSTEM_PATH)]
    missing += [name for name in NETWORK_HELPERS if not any(Path(folder, name).exists() for folder in HELPER_FOLDERS)]
    if missing:
        reasons.append(f"{', '.join(missing)} not found (as root on Debian 12, setup/containers.sh installs them)")
    if os.geteuid() != 0:
        fix = "try `sudo make test-long SUITE=containers`"
        reasons.append(f"not root, which debootstrap and podman's networks need ({fix})")
    elif not missing and subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True).returncode != 0:
        reasons.append("root cannot create namespaces here, as in a container without privileges")
    return "; ".join(reasons) or None


class PodmanError(Exception):
    """A failed podman command, with podman's output."""


class Podman:
    """Runs podman commands.

    Attributes:
        folder: Images, layers and networks, kept for the next session.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Podman keeps sockets there, whose paths are limited to 107 characters.
        run = Path("/run", f"training-containers-{zlib.crc32(str(folder).encode()):08x}")
        self._environment = os.environ | {"PATH": SYSTEM_PATH}
        folder.mkdir(parents=True, exist_ok=True)
        for variable, template in (("CONTAINERS_CONF", CONTAINERS_CONF), ("CONTAINERS_STORAGE_CONF", STORAGE_CONF)):
            path = folder / f"{variable.lower()}.toml"
            path.write_text(template.format(folder=folder, run=run))
            self._environment[variable] = str(path)

    def __call__(self, *arguments: str | Path, timeout: float | None = 120) -> str:
        """Run a command and return its output, without the newline at the end.

        Raises:
            PodmanError: The command failed.
        """
        command = ["podman", *map(str, arguments)]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise PodmanError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout.rstrip("\n")

    def log(self, log: Path, *arguments: str | Path) -> None:
        """Run a long command with its output in a file.

        Raises:
            PodmanError: The command failed; the message has the end of the file.
        """
        with log.open("w") as stream:
            command = ["podman", *map(str, arguments)]
            code = subprocess.run(command, env=self._environment, stdout=stream, stderr=subprocess.STDOUT).returncode
        if code != 0:
            end = "".join(log.read_text().splitlines(keepends=True)[-30:])
            raise PodmanError(f"podman {arguments[0]} ended with {code}; its output is in {log}, at its end:\n{end}")

    def clear(self) -> None:
        """Remove every pod, container and network, also of an interrupted build or session; keep images."""
        self("pod", "rm", "--all", "--force", "--time", "0")
        for container in self("ps", "--all", "--external", "--quiet").split():
            self("rm", "--force", "--time", "0", container)
        self("network", "prune", "--force")
