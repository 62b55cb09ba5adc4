"""The requests of a worker pod, derived from the instance type and the GPUs that it takes."""

from dataclasses import dataclass

from training_workloads.catalog import InstanceType
from training_workloads.catalog.nodes import (
    EFA_HUGEPAGES_MIB,
    EFA_RESOURCE,
    GPU_RESOURCE,
    HUGEPAGES_RESOURCE,
    vcpus_left_to_daemons,
)
from training_workloads.validation import Problem, Problems, check

__all__ = ["WorkerResources", "gpus_that_fit", "worker_resources"]

# What a node's daemons and the kubelet take of its memory.
_DAEMON_MEMORY_FRACTION = 0.1
_DAEMON_MEMORY_GIB = 3

# NCCL and Open MPI exchange data between the ranks of a node through /dev/shm; Docker's default of 64 MiB is too small.
_SHM_GIB_PER_GPU = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerResources:
    """Requests of one worker pod; limits are the same, as devices and huge pages require.

    Attributes:
        gpus: GPUs, one rank each.
        efa_interfaces: EFA devices.
        cpus: vCPUs.
        memory_gib: Memory without huge pages, in GiB; /dev/shm counts towards it.
        hugepages_mib: Memory in 2 MiB pages, in MiB.
        shm_gib: Size limit of /dev/shm, in GiB.
    """

    gpus: int
    efa_interfaces: int
    cpus: int
    memory_gib: int
    hugepages_mib: int
    shm_gib: int

    @property
    def cpus_per_rank(self) -> int:
        """VCPUs of each rank."""
        return max(1, self.cpus // self.gpus)

    def to_wire(self) -> dict[str, dict[str, str | int]]:
        """Return the container's `resources` in the Kubernetes wire format."""
        amounts: dict[str, str | int] = {
            "cpu": self.cpus,
            "memory": f"{self.memory_gib}Gi",
            GPU_RESOURCE: self.gpus,
        }
        if self.efa_interfaces:
            amounts[EFA_RESOURCE] = self.efa_interfaces
            amounts[HUGEPAGES_RESOURCE] = f"{self.hugepages_mib}Mi"
        return {"requests": dict(amounts), "limits": dict(amounts)}


def worker_resources(
    instance: InstanceType, gpus_per_worker: int | None = None, efa_interfaces: int | None = None
) -> WorkerResources:
    """Return the share of a worker in a node, in proportion to its GPUs.

    Args:
        instance: The node's type.
        gpus_per_worker: GPUs of one worker. Default: all.
        efa_interfaces: EFA interfaces of the worker: 0 is TCP, another number is for whole nodes. Default: its share.

    Raises:
        InputError: The type has fewer GPUs, or EFA interfaces that cannot be divided like that.
    """
    gpus = instance.gpus if gpus_per_worker is None else gpus_per_worker
    check(gpus_that_fit(instance, gpus, efa_interfaces))
    share = gpus / instance.gpus
    interfaces = instance.efa_interfaces * gpus // instance.gpus if efa_interfaces is None else efa_interfaces
    hugepages_mib = int(EFA_HUGEPAGES_MIB * share) if interfaces else 0
    left_out_gib = max(instance.memory_gib * _DAEMON_MEMORY_FRACTION, _DAEMON_MEMORY_GIB)
    memory_gib = int((instance.memory_gib - left_out_gib) * share - hugepages_mib / 1024)
    return WorkerResources(
        gpus=gpus,
        efa_interfaces=interfaces,
        cpus=int((instance.vcpus - vcpus_left_to_daemons(instance)) * share),
        memory_gib=memory_gib,
        hugepages_mib=hugepages_mib,
        shm_gib=_SHM_GIB_PER_GPU * gpus,
    )


def gpus_that_fit(instance: InstanceType, gpus_per_worker: int, efa_interfaces: int | None = None) -> Problems:
    """Reject a number of GPUs that the type does not have, or that would divide an EFA interface.

    Args:
        instance: The node's type.
        gpus_per_worker: GPUs of one worker.
        efa_interfaces: EFA interfaces of the worker. Default: its share.
    """
    path, devices = ("gpus_per_worker",), instance.efa_interfaces if efa_interfaces is None else 0
    if gpus_per_worker > instance.gpus:
        allowed = f"{instance.name} has {instance.gpus} GPUs"
        fix = f"lower it to {instance.gpus} or fewer, or use more workers"
        yield Problem(path=path, given=gpus_per_worker, allowed=allowed, fix=fix)
    elif devices * gpus_per_worker % instance.gpus:
        step = instance.gpus // devices
        allowed = f"on {instance.name} an EFA interface serves {step} GPUs"
        fix = f"use a multiple of {step}, or no EFA (0 EFA interfaces)"
        yield Problem(path=path, given=gpus_per_worker, allowed=allowed, fix=fix)
