"""What one worker pod asks of its node, derived from the instance type and the GPUs that it takes."""

from dataclasses import dataclass

from training_workloads.catalog import InstanceType
from training_workloads.catalog.nodes import (
    EFA_HUGEPAGES_MIB,
    EFA_RESOURCE,
    GPU_RESOURCE,
    HUGEPAGES_RESOURCE,
    vcpus_left_to_daemons,
)
from training_workloads.validation import InputError, check_at_least

__all__ = ["WorkerResources", "worker_resources"]

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
        """VCPUs that each rank has for itself."""
        return max(1, self.cpus // self.gpus)

    def to_wire(self) -> dict[str, dict[str, str | int]]:
        """The container's `resources` as they stand in the manifest."""
        amounts: dict[str, str | int] = {
            "cpu": self.cpus,
            "memory": f"{self.memory_gib}Gi",
            GPU_RESOURCE: self.gpus,
        }
        if self.efa_interfaces:
            amounts[EFA_RESOURCE] = self.efa_interfaces
            amounts[HUGEPAGES_RESOURCE] = f"{self.hugepages_mib}Mi"
        return {"requests": dict(amounts), "limits": dict(amounts)}


def worker_resources(instance: InstanceType, gpus_per_worker: int, *, efa: bool = True) -> WorkerResources:
    """Divides a node among the workers that share it, in proportion to their GPUs.

    Args:
        instance: The node's type.
        gpus_per_worker: GPUs of one worker.
        efa: Whether the worker takes its share of the node's EFA devices.

    Raises:
        InputError: The type has fewer GPUs, or EFA interfaces that cannot be divided like that.
    """
    devices = instance.efa_interfaces if efa else 0
    _check_gpus(instance, gpus_per_worker, devices)
    share = gpus_per_worker / instance.gpus
    efa_interfaces = devices * gpus_per_worker // instance.gpus
    hugepages_mib = int(EFA_HUGEPAGES_MIB * share) if efa_interfaces else 0
    left_out_gib = max(instance.memory_gib * _DAEMON_MEMORY_FRACTION, _DAEMON_MEMORY_GIB)
    memory_gib = int((instance.memory_gib - left_out_gib) * share - hugepages_mib / 1024)
    return WorkerResources(
        gpus=gpus_per_worker,
        efa_interfaces=efa_interfaces,
        cpus=int((instance.vcpus - vcpus_left_to_daemons(instance)) * share),
        memory_gib=memory_gib,
        hugepages_mib=hugepages_mib,
        shm_gib=_SHM_GIB_PER_GPU * gpus_per_worker,
    )


def _check_gpus(instance: InstanceType, gpus_per_worker: int, efa_devices: int) -> None:
    check_at_least("gpus_per_worker", gpus_per_worker, 1)
    if gpus_per_worker > instance.gpus:
        raise InputError(
            f"'gpus_per_worker' is {gpus_per_worker} but {instance.name} has {instance.gpus} GPUs; "
            f"lower it to {instance.gpus} or fewer, or use more workers"
        )
    if efa_devices * gpus_per_worker % instance.gpus:
        step = instance.gpus // efa_devices
        raise InputError(
            f"'gpus_per_worker' is {gpus_per_worker}, but on {instance.name} an EFA interface serves {step} GPUs; "
            f"use a multiple of {step}, or no EFA (--no-efa)"
        )
