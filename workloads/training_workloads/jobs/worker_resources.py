"""The requests of a worker pod, derived from the instance type and the GPUs that it takes."""

from dataclasses import dataclass, replace

from training_workloads.catalog import InstanceType, gpu_instance_type
from training_workloads.catalog.instances import supported_gpu_type
from training_workloads.catalog.nodes import (
    EFA_HUGEPAGES_MIB,
    EFA_RESOURCE,
    GPU_RESOURCE,
    HUGEPAGES_RESOURCE,
    vcpus_left_to_daemons,
)
from training_workloads.validation import Problem, Problems, at_least, enforce

__all__ = ["WorkerResources", "gpus_that_fit", "interfaces_of_the_type", "node_resources", "worker_resources"]

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


def worker_resources(instance: InstanceType, gpus_per_worker: int, *, efa: bool = True) -> WorkerResources:
    """Return the share of a worker in a node, in proportion to its GPUs.

    Args:
        instance: The node's type.
        gpus_per_worker: GPUs of one worker.
        efa: Whether the worker takes its share of the node's EFA devices.

    Raises:
        InputError: The type has fewer GPUs, or EFA interfaces that cannot be divided like that.
    """
    devices = instance.efa_interfaces if efa else 0
    enforce(instance, (lambda type_: gpus_that_fit(type_, gpus_per_worker, efa=efa),))
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


def node_resources(instance: InstanceType, efa_interfaces: int) -> WorkerResources:
    """Return the requests of a worker that has a whole node, but only some of its EFA interfaces.

    Args:
        instance: The node's type.
        efa_interfaces: How many of its interfaces; 0 is TCP.
    """
    whole = worker_resources(instance, instance.gpus, efa=efa_interfaces > 0)
    return replace(whole, efa_interfaces=efa_interfaces)


def gpus_that_fit(instance: InstanceType, gpus_per_worker: int, *, efa: bool = True) -> Problems:
    """Reject a number of GPUs that the type does not have, or that would divide an EFA interface.

    Args:
        instance: The node's type.
        gpus_per_worker: GPUs of one worker.
        efa: Whether the worker takes its share of the node's EFA devices.
    """
    path, devices = ("gpus_per_worker",), instance.efa_interfaces if efa else 0
    if wrong := list(at_least(*path, gpus_per_worker, 1)):
        yield from wrong
    elif gpus_per_worker > instance.gpus:
        allowed = f"{instance.name} has {instance.gpus} GPUs"
        fix = f"lower it to {instance.gpus} or fewer, or use more workers"
        yield Problem(path=path, given=gpus_per_worker, allowed=allowed, fix=fix)
    elif devices * gpus_per_worker % instance.gpus:
        step = instance.gpus // devices
        allowed = f"on {instance.name} an EFA interface serves {step} GPUs"
        fix = f"use a multiple of {step}, or no EFA (--no-efa)"
        yield Problem(path=path, given=gpus_per_worker, allowed=allowed, fix=fix)


def interfaces_of_the_type(instance_type: str, number: int | None) -> Problems:
    """Reject more EFA interfaces than a type has.

    Args:
        instance_type: Its name.
        number: Of each node; None for all.
    """
    if number is None:
        return
    wrong = list(at_least("efa_interfaces", number, 0))
    yield from wrong
    # Another rule reports a wrong type.
    if wrong or list(supported_gpu_type(instance_type)):
        return
    instance = gpu_instance_type(instance_type)
    if number > instance.efa_interfaces:
        allowed, fix = f"{instance.name} has {instance.efa_interfaces}", "lower it, or omit it to use all"
        yield Problem(path=("efa_interfaces",), given=number, allowed=allowed, fix=fix)
