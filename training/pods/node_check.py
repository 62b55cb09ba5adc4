"""Check a worker before its ranks start: the requested devices, its disks and its clock.

python -m training.pods.node_check --gpus 8 --efa 4 --mount /fsx

The launcher runs it on every worker (training.pods.gate). It prints the name of each check before it starts, so that
the launcher can say which one hangs, and in the last line the result as JSON.
"""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from training.pods import device_checks
from training.pods.device_checks import Note
from training.pods.requested import Requested
from training.runtime import command_line, options
from training.runtime.command_line import whole_number
from training.runtime.options import option

#: How a line with the name of a check begins.
CHECKING = "checking: "

_GIB = 2**30
_FREE_GIB = 1

# A tmpfs may be some pages smaller than its limit.
_SHM_TOLERANCE = 0.98


@dataclass(frozen=True, kw_only=True)
class Settings(Requested):
    """The command line, an option a field."""

    seconds: int = option(whole_number(1), "limit", default=60)


def shared_memory(requested: Requested, root: Path) -> Iterator[str]:
    """Yield that /dev/shm is smaller than requested."""
    if not requested.shm_mib:
        return
    found = os.statvfs(root / "dev/shm")
    size = found.f_blocks * found.f_frsize // 2**20
    if size < requested.shm_mib * _SHM_TOLERANCE:
        yield f"/dev/shm has {size} of {requested.shm_mib} MiB"


def mounts(requested: Requested, root: Path) -> Iterator[str]:
    """Yield the file systems in which the ranks cannot write."""
    for mount in requested.mount:
        if not mount.is_dir():
            yield f"{mount} does not exist"
        elif os.statvfs(mount).f_flag & os.ST_RDONLY:
            yield f"{mount} is mounted read-only"
        elif reason := _not_writable(mount):
            yield f"nothing can be written in {mount}: {reason}"


def _not_writable(mount: Path) -> str | None:
    """Return why a file can be written neither in a folder nor in one below it."""
    reason = "no folder in it is writable"
    # The root of a shared file system belongs to root, the folders in it to the jobs' user.
    for folder in [mount, *sorted(path for path in mount.iterdir() if path.is_dir())]:
        if os.access(folder, os.W_OK):
            try:
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(b"gate")
                    file.flush()
            except OSError as error:
                reason = f"{folder}: {error.strerror}"
            else:
                return None
    return reason


def free_space(requested: Requested, root: Path) -> Iterator[str]:
    """Yield the file systems that are full."""
    for folder in [Path(tempfile.gettempdir()), *(mount for mount in requested.mount if mount.is_dir())]:
        found = os.statvfs(folder)
        if found.f_bavail * found.f_frsize < _FREE_GIB * _GIB:
            free = found.f_bavail * found.f_frsize // 2**20
            yield f"{folder} has {free} MiB free; the ranks need {_FREE_GIB} GiB or more"


Check = Callable[[Requested, Path], Iterator[str | Note]]

#: In the order of their causes; each has its name in the launcher's log.
CHECKS: dict[str, Check] = {
    "GPUs": device_checks.gpus,
    "EFA devices": device_checks.efa_devices,
    "EFA plugin": device_checks.efa_plugin,
    "locked memory": device_checks.locked_memory,
    "huge pages": device_checks.huge_pages,
    "shared memory": shared_memory,
    "mounts": mounts,
    "free space": free_space,
}


def run(settings: Settings, root: Path = Path("/")) -> None:
    """Check this machine and print the result, with its problems.

    Args:
        settings: The command line.
        root: Where devices and the kernel's files are.
    """
    # sshd does not end a program whose connection is lost.
    signal.alarm(settings.seconds)
    problems, notes = list[str](), list[str]()
    for name, check in CHECKS.items():
        print(f"{CHECKING}{name}", flush=True)
        for found in check(settings, root):
            if isinstance(found, Note):
                notes.append(found.text)
            else:
                problems.append(found)
    print(json.dumps({"problems": problems, "notes": notes, "time": time.time()}), flush=True)
    signal.alarm(0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code: 0, also with problems."""
    return command_line.exit_code(lambda: run(options.parse(Settings, "training.pods.node_check", __doc__, arguments)))


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
