"""Rules on /dev/shm, through which the ranks of a node exchange data."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.purpose import has_several_ranks
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.torchrun import torchrun
from training_workloads.manifests.values import MI, amount_of, mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import Path

_SHM = "/dev/shm"

# The part of /dev/shm that NCCL takes grows with the GPUs; with two, 64 MiB suffice without data loaders of PyTorch's.
_SEVERAL_GPUS = 4
_WITH_DATA_LOADERS = 2


class _SharedMemory(NamedTuple):
    """The volume at /dev/shm.

    Attributes:
        path: Its path.
        volume: Its value; empty where there is none.
    """

    path: Path
    volume: dict[str, Any]

    @property
    def in_memory(self) -> bool:
        # A misspelled medium is the mistake of another rule.
        return str(mapping(self.volume.get("emptyDir")).get("medium")).lower() == "memory"

    @property
    def size_limit(self) -> Decimal | None:
        return amount_of(mapping(self.volume.get("emptyDir")).get("sizeLimit"))


def _shared_memory(pods: PodGroup, holder: Container) -> _SharedMemory:
    name = holder.mounts(_SHM)
    for number, volume in enumerate(pods.volumes):
        if name is not None and volume.get("name") == name:
            return _SharedMemory((*pods.pod_path, "volumes", number), dict(volume))
    return _SharedMemory((*holder.path, "volumeMounts"), {})


def _holders(workload: WorkloadView) -> Iterator[tuple[PodGroup, Container]]:
    """Yield the containers with GPUs in pods with shared memory that is not the node's."""
    for pods in workload.rank_groups:
        if (holder := pods.holder(GPU_RESOURCE)) and pods.pod.get("hostIPC") is not True:
            yield pods, holder


@warning(
    "Its default is 64 MiB, through which NCCL and data loaders exchange data "
    "([NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory))"
)
def small_shared_memory(workload: WorkloadView) -> Iterator[Found]:
    """Pods with several ranks on GPUs without a memory-backed /dev/shm."""
    for pods, holder in _holders(workload):
        least = _WITH_DATA_LOADERS if torchrun(holder.argv) else _SEVERAL_GPUS
        # One process that has all GPUs needs no shared memory for that.
        if pods.total(GPU_RESOURCE) < least or not has_several_ranks(workload, holder):
            continue
        shm = _shared_memory(pods, holder)
        # A mount of a volume that is missing is the mistake of another rule.
        is_named = not shm.volume and holder.mounts(_SHM)
        if not is_named and not shm.in_memory and "hostPath" not in shm.volume:
            has = f"no memory at {_SHM}" if shm.volume else f"no volume at {_SHM}, whose default is 64 MiB"
            problem = f"has {has}: NCCL and data loaders share data there"
            fix = f"mount a volume with emptyDir: {{medium: Memory}} at {_SHM}"
            yield Found((*holder.path, "volumeMounts"), problem, fix)


# NCCL takes some ten MiB for each GPU, data loaders more.
_SMALLEST_SIZE = Decimal(256 * MI)


@warning(
    "The volume is a file system of that size ([Kubernetes](https://kubernetes.io/docs/concepts/storage/volumes/"
    "#emptydir)): NCCL and data loaders end with a bus error when it is full"
)
def shared_memory_size(workload: WorkloadView) -> Iterator[Found]:
    """A size limit of /dev/shm below 256 MiB, such as `200m` for 200Gi."""
    for pods, holder in _holders(workload):
        shm = _shared_memory(pods, holder)
        if shm.size_limit is not None and shm.in_memory and 0 < shm.size_limit < _SMALLEST_SIZE:
            given = mapping(shm.volume.get("emptyDir")).get("sizeLimit")
            problem = f"is {given}, in which NCCL and the data loaders of {holder.amount(GPU_RESOURCE)} GPUs do not fit"
            yield Found((*shm.path, "emptyDir", "sizeLimit"), problem, "give several GiB for each GPU")


@error("NCCL and data loaders create files in it, and end with an error (derived)")
def shared_memory_read_only(workload: WorkloadView) -> Iterator[Found]:
    """A mount of /dev/shm that cannot be written."""
    for _, holder in _holders(workload):
        for number, mount in enumerate(holder.volume_mounts):
            if str(mount.get("mountPath")).rstrip("/") == _SHM and mount.get("readOnly") is True:
                path = (*holder.path, "volumeMounts", number, "readOnly")
                yield Found(path, f"is true, but NCCL and data loaders write to {_SHM}", "remove it")
