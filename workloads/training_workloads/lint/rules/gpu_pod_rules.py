"""Rules on the CPUs and the memory of pods with GPUs."""

from collections.abc import Iterator
from decimal import Decimal

from training_workloads.catalog.nodes import EFA_RESOURCE, GPU_RESOURCE
from training_workloads.lint.node_types import NodeSize, node_sizes, node_types
from training_workloads.lint.purpose import has_one_rank, is_network_test
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import GI, MI, amount_of
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.view import MpiJobView

# mpirun, sshd and Python need more.
_SMALLEST_MEMORY = Decimal(16 * MI)


def _gpus(container: Container) -> Decimal:
    return container.amount(GPU_RESOURCE) or Decimal(0)


def _counted(container: Container) -> str:
    return "1 GPU" if _gpus(container) == 1 else f"{_gpus(container)} GPUs"


def _holders(workload: WorkloadView) -> Iterator[tuple[PodGroup, Container]]:
    """Yield the containers with GPUs of the ranks, and their pods."""
    found = ((pods, one) for pods in workload.rank_groups for one in pods.containers)
    return ((pods, one) for pods, one in found if _gpus(one))


@error(
    "The container is killed, or cannot start; a number without a unit is in bytes, and `m` means a thousandth "
    "([Kubernetes](https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-memory))"
)
def memory_unit(workload: WorkloadView) -> Iterator[Found]:
    """Memory below 16 MiB, such as `1600` for 1600Gi."""
    for container in (one for pods in workload.groups for one in pods.all_containers):
        for kind in ("limits", "requests"):
            given = container.amounts(kind).get("memory")
            amount = amount_of(given)
            if amount is not None and 0 < amount < _SMALLEST_MEMORY:
                problem = f"is {given}, which is {amount.normalize():f} bytes"
                yield Found((*container.path, "resources", kind, "memory"), problem, "add the unit, such as Gi")
                break


@warning("Each process loads CUDA, NCCL and the framework into it first, and the kernel kills one of them (derived)")
def memory_of_gpus(workload: WorkloadView) -> Iterator[Found]:
    """A memory limit below 1 GiB for each GPU."""
    if is_network_test(workload):
        return
    for _, container in _holders(workload):
        limit = amount_of(container.amounts("limits").get("memory"))
        is_judged = limit is not None and limit >= _SMALLEST_MEMORY and not container.amount(EFA_RESOURCE)
        if limit is not None and is_judged and limit < GI * _gpus(container):
            given = container.amounts("limits").get("memory")
            problem = f"is {given} for {_counted(container)}, which is less than a process on a GPU takes"
            yield Found((*container.path, "resources", "limits", "memory"), problem, "give several GiB for each GPU")


@warning(
    "The kernel stops the ranks at the limit, and the GPUs wait ([Kubernetes](https://kubernetes.io/docs/concepts/"
    "configuration/manage-resources-containers/#how-pods-with-resource-limits-are-run))"
)
def cpus_of_gpus(workload: WorkloadView) -> Iterator[Found]:
    """A limit of fewer CPUs than GPUs."""
    if is_network_test(workload):
        return
    for pods, container in _holders(workload):
        given = container.amounts("limits").get("cpu")
        amount = amount_of(given)
        # One rank uses one of the GPUs, or few CPUs for all of them.
        if has_one_rank(workload, container) and _gpus(container) > 1:
            continue
        if amount is not None and amount < _gpus(container):
            problem = f"is {given} for {_counted(container)}, and the GPUs wait for their input"
            fix = f"give {_fair(pods)} or so" if _fair(pods) else "give several CPUs for each GPU"
            yield Found((*container.path, "resources", "limits", "cpu"), problem, fix)


def _fair(pods: PodGroup) -> int:
    """Return the CPUs that belong to the pod's GPUs on the smallest of its types; 0 where they are not known."""
    shares = [one.vcpus * pods.total(GPU_RESOURCE) / one.gpus for one in node_types(pods) if one.gpus]
    return int(min(shares, default=Decimal(0)) * 15 / 16)


@warning("Their price is paid, and no other pod of the job fits beside it (derived)")
def gpus_left_on_the_node(workload: WorkloadView) -> Iterator[Found]:
    """All EFA devices, CPUs or memory of a node, but not all of its GPUs."""
    for pods, holder in _holders(workload):
        # A single one may leave room for pods of other jobs.
        if (pods.replicas or 1) < 2:
            continue
        types, sizes, gpus = node_types(pods), node_sizes(pods), pods.total(GPU_RESOURCE)
        differs = holder.amounts("limits").get(GPU_RESOURCE) != holder.amounts("requests").get(GPU_RESOURCE, gpus)
        # A test of the network may use one GPU of each node.
        if is_network_test(workload) and isinstance(workload, MpiJobView) and workload.slots == gpus:
            continue
        if len(types) != 1 or len(sizes) != 1 or gpus < 1 or types[0].gpus < 2 * gpus or differs:
            continue
        if reason := _what_fills(pods, sizes[0], types[0].efa_interfaces):
            problem = f"is {gpus}, but {types[0].name} has {types[0].gpus}, and the pod takes {reason}"
            fix = f"write {types[0].gpus}, or request less of the rest"
            yield Found(holder.place(GPU_RESOURCE), problem, fix)


def _what_fills(pods: PodGroup, size: NodeSize, efa: int) -> str:
    """Return the resource of a node that a second pod of the group lacks; empty where two fit."""
    if efa > 1 and pods.total(EFA_RESOURCE) * 2 > efa:
        return "its EFA devices"
    if pods.total("cpu") * 2 > size.cpus:
        return "its CPUs"
    return "its memory" if pods.total("memory") * 2 > size.memory_gib * GI else ""
