"""Rules on /dev/shm, through which the ranks of a node exchange data."""

from collections.abc import Iterator
from typing import Any

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, warning
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, sequence
from training_workloads.manifests.workload import WorkloadView

_SHM = "/dev/shm"


def _shared_memory(pods: PodGroup) -> dict[str, Any]:
    """Return the volume at /dev/shm of the first container with GPUs; empty where there is none."""
    holder = pods.holder(GPU_RESOURCE) or pods.first
    name = holder.mounts(_SHM)
    volumes = map(mapping, sequence(pods.pod.get("volumes")))
    return next((dict(volume) for volume in volumes if name is not None and volume.get("name") == name), {})


@warning("Its default is 64 MiB, through which NCCL and data loaders exchange data")
def small_shared_memory(workload: WorkloadView) -> Iterator[Found]:
    """GPU workers without a memory-backed /dev/shm."""
    for pods in workload.rank_groups:
        if not (holder := pods.holder(GPU_RESOURCE)) or pods.pod.get("hostIPC") is True:
            continue
        volume = _shared_memory(pods)
        in_memory = mapping(volume.get("emptyDir")).get("medium") == "Memory"
        if not in_memory and "hostPath" not in volume:
            given = f"has no volume at {_SHM}, whose default is 64 MiB" if not volume else f"has no memory at {_SHM}"
            problem = f"{given}: NCCL and data loaders share data there"
            fix = f"mount a volume with emptyDir: {{medium: Memory}} at {_SHM}"
            yield Found((*holder.path, "volumeMounts"), problem, fix)


@warning("Shared with every pod of the node; files of a dead rank stay in it")
def shared_memory_of_the_node(workload: WorkloadView) -> Iterator[Found]:
    """A hostPath of /dev/shm."""
    for pods in workload.groups:
        for number, volume in enumerate(map(mapping, sequence(pods.pod.get("volumes")))):
            if str(mapping(volume.get("hostPath")).get("path")).rstrip("/") == _SHM:
                problem = f"is the node's {_SHM}: every pod there shares it, and files of a dead rank stay in it"
                fix = "write emptyDir: {medium: Memory} instead of hostPath"
                yield Found((*pods.pod_path, "volumes", number, "hostPath"), problem, fix)
