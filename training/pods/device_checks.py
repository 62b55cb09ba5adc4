"""Checks of a worker's devices before its ranks start: GPUs, EFA devices, and the memory that both need.

Written from the documentation, and tested with files and programs that imitate a node: no GPU and no EFA device was
available.
"""

import ctypes
import importlib.util
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from training.pods.requested import Requested

# The driver of a GPU that has failed may not answer at all.
_DRIVER_SECONDS = 20.0

_MIB = 2**20
_HUGE_PAGE_MIB = 2

# Every EFA endpoint pins buffers of tens of MiB, and a rank has several. Containers without a limit have no problem
# (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html recommends `--ulimit memlock=-1`).
_MEMLOCK_MIB = 1024
_IPC_LOCK = 14  # https://man7.org/linux/man-pages/man7/capabilities.7.html

# The names under which NCCL finds the plugin
# (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net-plugin; aws-ofi-nccl installs them).
_PLUGINS = ("libnccl-net.so", "libnccl-net-ofi.so", "libnccl-net-aws-ofi.so")

_AMAZON = "0x1d0f"

# Counts that the driver keeps of errors that it reported as Xid 48, 63, 64, 94 or 95, until the GPU is reset or
# replaced (https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/user-visible-statistics.html). The kernel's log, with
# every Xid, cannot be read in a container.
_HEALTH = {
    "ecc.errors.uncorrected.volatile.total": "uncorrectable memory errors since its last reset",
    "remapped_rows.pending": "a row of its memory to be remapped by a reset",
    "remapped_rows.failure": "a row of its memory that cannot be remapped",
}


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was not checked, and why; it fails no worker."""

    text: str


def gpus(requested: Requested, root: Path) -> Iterator[str | Note]:
    """Yield the problems of the GPUs, by the driver's own program."""
    if not requested.gpus:
        return
    program = shutil.which("nvidia-smi")
    if program is None:
        yield from _devices(requested.gpus, root)
        return
    code, output = _run(program, "-L")
    # A GPU that is divided has lines for its parts, each of which is one device.
    found = re.findall(r"^\s+MIG .*:", output, re.MULTILINE) or re.findall(r"^GPU \d+:", output, re.MULTILINE)
    if len(found) < requested.gpus:
        yield f"{len(found)} of {requested.gpus} GPUs{_reason(output)}"
    if code == 0:
        yield from _health(program)


def _devices(requested: int, root: Path) -> Iterator[str | Note]:
    """Yield that there are fewer devices than requested, where the driver's program is missing."""
    devices = [path for path in (root / "dev").glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)]
    if not devices and not has_cuda(root):
        yield Note("the image has no CUDA, so the ranks compute on the CPU: the GPUs are not checked")
    elif len(devices) < requested:
        yield f"{len(devices)} of {requested} GPUs, and no nvidia-smi to say why"


def _reason(output: str) -> str:
    """Return the first line of the driver's program that names no GPU, as the end of a sentence."""
    lines = [line for line in output.splitlines() if line and not line.lstrip().startswith(("GPU ", "MIG "))]
    return f": nvidia-smi prints {lines[0]!r}" if lines else ""


def has_cuda(root: Path) -> bool:
    """Return whether the image has the CUDA runtime, from NVIDIA's base image or from packages of pip."""
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), *map(str, root.glob("usr/local/cuda*/lib64"))]
    found = any(any(Path(folder).glob("libcudart.so*")) for folder in folders if folder)
    return found or (
        importlib.util.find_spec("nvidia") is not None and importlib.util.find_spec("nvidia.cuda_runtime") is not None
    )


def _health(program: str) -> Iterator[str | Note]:
    """Yield the GPUs whose memory has failed."""
    code, output = _run(program, f"--query-gpu=index,{','.join(_HEALTH)}", "--format=csv,noheader,nounits")
    if code != 0:
        yield Note("this driver's nvidia-smi does not report memory errors: they are not checked")
        return
    for line in output.splitlines():
        index, *values = [value.strip() for value in line.split(",")]
        for meaning, value in zip(_HEALTH.values(), values, strict=False):
            # GPUs without such a count have "[N/A]".
            if value.lower() == "yes" or (value.isdigit() and int(value)):
                yield f"GPU {index} has {meaning}{f' ({value})' * value.isdigit()}: reset or replace it"


def _run(*command: str) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_DRIVER_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, f"no answer within {_DRIVER_SECONDS:g} s"
    except OSError as error:
        return -1, f"{command[0]}: {error.strerror}"
    return done.returncode, done.stdout


def efa_devices(requested: Requested, root: Path) -> Iterator[str]:
    """Yield the problems of the EFA devices."""
    if not requested.efa:
        return
    names = sorted(path.name for path in (root / "dev/infiniband").glob("uverbs*"))
    ours = [name for name in names if _vendor(root, name) in (_AMAZON, None)]
    if len(ours) < requested.efa:
        others = f" ({len(names) - len(ours)} of another vendor)" if len(names) > len(ours) else ""
        yield f"{len(ours)} of {requested.efa} EFA devices in /dev/infiniband{others}"
    down = [name for name in ours if (state := _port(root, name)) and "ACTIVE" not in state]
    if down:
        yield f"the port of {len(down)} EFA devices is not active, such as {down[0]}: {_port(root, down[0])}"


def _port(root: Path, device: str) -> str | None:
    name = _read(root / "sys/class/infiniband_verbs" / device / "ibdev")
    return name and _read(root / "sys/class/infiniband" / name / "ports/1/state")


def _vendor(root: Path, device: str) -> str | None:
    return _read(root / "sys/class/infiniband_verbs" / device / "device/vendor")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def efa_plugin(requested: Requested, root: Path) -> Iterator[str]:
    """Yield why NCCL could not load its EFA plugin; the loader's folders are those of this process."""
    if not requested.efa:
        return
    reasons = []
    for name in _PLUGINS:
        try:
            ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
        else:
            return
    missing = "No such file or directory"
    # A plugin that is there, but needs another library, has the reason that helps.
    reason = next((text for text in reasons if not (text.startswith(_PLUGINS) and missing in text)), reasons[0])
    yield f"NCCL's EFA plugin cannot be loaded: {reason}; build the image with EFA_INSTALLER_VERSION"


def locked_memory(requested: Requested, root: Path) -> Iterator[str]:
    """Yield a limit of locked memory that is too low for EFA."""
    if not requested.efa:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit != resource.RLIM_INFINITY and limit < _MEMLOCK_MIB * _MIB and not _may_lock(root):
        yield f"locked memory is limited to {limit // 1024} KiB (ulimit -l); EFA needs no limit: set it for containerd"


def _may_lock(root: Path) -> bool:
    """Return whether the process has the capability that ignores the limit."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", _read(root / "proc/self/status") or "", re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> _IPC_LOCK & 1)


def huge_pages(requested: Requested, root: Path) -> Iterator[str]:
    """Yield that there are fewer huge pages than requested: of the node, or in the container's group."""
    if not requested.hugepages_mib:
        return
    wanted = requested.hugepages_mib
    free = _read(root / "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    if free is not None and free.isdigit() and int(free) * _HUGE_PAGE_MIB < wanted:
        yield f"{int(free) * _HUGE_PAGE_MIB} of {wanted} MiB in free huge pages"
    limits = ("sys/fs/cgroup/hugetlb.2MB.max", "sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes")
    limit = next((text for path in limits if (text := _read(root / path))), "max")
    if limit.isdigit() and int(limit) < wanted * _MIB:
        yield f"the container may use {int(limit) // _MIB} of {wanted} MiB in huge pages"
