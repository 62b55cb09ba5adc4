"""Rules on EFA: requested where it is there and where it is configured, with the memory that it needs."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from training_workloads.catalog.nodes import EFA_RESOURCE, GPU_RESOURCE, HUGEPAGES_RESOURCE
from training_workloads.lint.node_types import node_types
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import MI, amount_of
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import Path

# What NCCL's EFA plugin needs at least: below, "Invalid receiver QPN" hides an out-of-memory kill
# (https://github.com/aws-samples/awsome-distributed-training/issues/312).
_EFA_MEMORY = Decimal(32000 * MI)

_AMOUNTS = ("requests", "limits")


@error("Libfabric finds no provider (aws-samples/ai-on-sagemaker-hyperpod#134)")
def efa_not_requested(workload: WorkloadView) -> Iterator[Found]:
    """`FI_PROVIDER=efa`, and ranks without `vpc.amazonaws.com/efa`."""
    ranks = workload.rank_groups
    # A placeholder may stand for any number.
    if not ranks or any(_names_efa(pods) or pods.sees_devices_otherwise for pods in ranks):
        return
    for path, value in workload.settings("FI_PROVIDER"):
        if value == "efa":
            fix = f"add {EFA_RESOURCE} to their requests and limits, or remove FI_PROVIDER"
            yield Found(path, f"sets FI_PROVIDER=efa, but the pods of the ranks request no {EFA_RESOURCE}", fix)


def _names_efa(pods: PodGroup) -> bool:
    """Return whether EFA devices are requested, with a number or a placeholder."""
    return any(EFA_RESOURCE in container.amounts(kind) for container in pods.containers for kind in _AMOUNTS)


@warning("NCCL uses TCP without a warning")
def efa_left_unused(workload: WorkloadView) -> Iterator[Found]:
    """Several GPU pods on instances with EFA that request none of it."""
    groups = [pods for pods in workload.rank_groups if pods.total(GPU_RESOURCE)]
    if sum(pods.replicas or 1 for pods in groups) < 2 or any(value == "Socket" for _, value in _networks(workload)):
        return
    for pods in groups:
        if _names_efa(pods) or pods.sees_devices_otherwise:
            continue
        gpus, types = pods.total(GPU_RESOURCE), node_types(pods)
        # A pod with a small part of the GPUs may have less than one device as its share.
        shares = [int(one.efa_interfaces * gpus / one.gpus) if one.gpus else 0 for one in types]
        if shares and min(shares) >= 1:
            holder = pods.holder(GPU_RESOURCE) or pods.first
            problem = f"requests no {EFA_RESOURCE}, though {types[0].name} has EFA: the ranks exchange data over TCP"
            fix = f"add {EFA_RESOURCE}: {min(shares)} to requests and limits where the nodes have EFA interfaces"
            yield Found((*holder.path, "resources"), problem, fix)


def _networks(workload: WorkloadView) -> Iterator[tuple[Path, Any]]:
    """Yield each place that chooses NCCL's network, and what it chooses: `Socket` is TCP on purpose."""
    return workload.settings("NCCL_NET")


def _efa_holders(workload: WorkloadView) -> Iterator[Container]:
    return (container for container in workload.containers if container.amount(EFA_RESOURCE))


@warning(
    "Libfabric allocates its buffers there ([EKS](https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html))"
)
def efa_without_hugepages(workload: WorkloadView) -> Iterator[Found]:
    """EFA devices without hugepages-2Mi, and no `FI_EFA_USE_HUGE_PAGE=0`."""
    settings = [value for _, value in workload.settings("FI_EFA_USE_HUGE_PAGE")]
    for container in _efa_holders(workload):
        named = {*container.amounts("requests"), *container.amounts("limits")}
        if HUGEPAGES_RESOURCE not in named and "0" not in settings:
            problem = f"requests EFA devices but no {HUGEPAGES_RESOURCE}, from which libfabric takes its buffers"
            fix = f"add {HUGEPAGES_RESOURCE}: 5120Mi to requests and limits, or set FI_EFA_USE_HUGE_PAGE=0"
            yield Found((*container.path, "resources"), problem, fix)


@warning(
    'The kernel kills NCCL, and the log shows "Invalid receiver QPN" (aws-samples/awsome-distributed-training#312)'
)
def efa_memory(workload: WorkloadView) -> Iterator[Found]:
    """EFA devices and a memory limit below 32000Mi."""
    for container in _efa_holders(workload):
        limit = amount_of(container.amounts("limits").get("memory"))
        if limit is not None and limit < _EFA_MEMORY:
            given = container.amounts("limits").get("memory")
            problem = f"is {given}; NCCL with EFA runs out of it, which looks like a network error"
            yield Found((*container.path, "resources", "limits", "memory"), problem, "give 32000Mi or more")
