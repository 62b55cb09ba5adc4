"""Rules on /dev/shm, through which the ranks of a node exchange data."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import GI, MI, amount_of, mapping, sequence
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import Path

_SHM = "/dev/shm"
_SEVERAL_GPUS = 2


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
    """Pods with several GPUs without a memory-backed /dev/shm."""
    for pods, holder in _holders(workload):
        # With one GPU NCCL shares nothing.
        if pods.total(GPU_RESOURCE) < _SEVERAL_GPUS:
            continue
        shm = _shared_memory(pods, holder)
        if not shm.in_memory and "hostPath" not in shm.volume:
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


@warning(
    "What is in it counts as the container's memory ([Kubernetes](https://kubernetes.io/docs/concepts/storage/volumes/"
    "#emptydir))"
)
def shared_memory_over_limit(workload: WorkloadView) -> Iterator[Found]:
    """A size limit of /dev/shm that is not below the container's memory limit, towards which it counts."""
    for pods, holder in _holders(workload):
        shm = _shared_memory(pods, holder)
        limit = amount_of(holder.amounts("limits").get("memory"))
        # Where the limit itself is too small it is the cause.
        enough = 4 * GI * (holder.amount(GPU_RESOURCE) or 1)
        if shm.size_limit is not None and shm.in_memory and limit is not None and enough <= limit <= shm.size_limit:
            sizes = mapping(shm.volume.get("emptyDir")).get("sizeLimit"), holder.amounts("limits").get("memory")
            problem = f"is {sizes[0]}, but it counts as memory of the container, whose limit is {sizes[1]}"
            yield Found((*shm.path, "emptyDir", "sizeLimit"), problem, "give a part of the memory limit")


@error("NCCL and data loaders create files in it, and end with an error (derived)")
def shared_memory_read_only(workload: WorkloadView) -> Iterator[Found]:
    """A mount of /dev/shm that cannot be written."""
    for _, holder in _holders(workload):
        for number, mount in enumerate(map(mapping, sequence(holder.content.get("volumeMounts")))):
            if str(mount.get("mountPath")).rstrip("/") == _SHM and mount.get("readOnly") is True:
                path = (*holder.path, "volumeMounts", number, "readOnly")
                yield Found(path, f"is true, but NCCL and data loaders write to {_SHM}", "remove it")


@warning(
    "Shared with every pod of the node; files of a dead rank stay in it "
    "([hostPath](https://kubernetes.io/docs/concepts/storage/volumes/#hostpath))"
)
def shared_memory_of_the_node(workload: WorkloadView) -> Iterator[Found]:
    """A hostPath of /dev/shm, or the node's IPC namespace, which has the same."""
    for pods in workload.groups:
        instead = "emptyDir: {medium: Memory}"
        for number, volume in enumerate(pods.volumes):
            if str(mapping(volume.get("hostPath")).get("path")).rstrip("/") == _SHM:
                problem = f"is the node's {_SHM}: every pod there shares it, and files of a dead rank stay in it"
                yield Found(
                    (*pods.pod_path, "volumes", number, "hostPath"), problem, f"write {instead} instead of hostPath"
                )
        if pods.pod.get("hostIPC") is True:
            problem = f"gives the pod the node's {_SHM}: every such pod shares it, and files of a dead rank stay in it"
            yield Found((*pods.pod_path, "hostIPC"), problem, f"remove it, and mount {instead} at {_SHM}")
