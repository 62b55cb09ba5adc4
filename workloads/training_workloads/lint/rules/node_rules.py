"""Rules on what a pod requests and what the nodes of its instance types have."""

from collections.abc import Iterator

from training_workloads.catalog.nodes import EFA_RESOURCE, GPU_RESOURCE
from training_workloads.lint.node_types import node_types
from training_workloads.lint.rule import Found, warning
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import GI


@warning("The pod stays Pending, unless the device plugin divides GPUs (time-slicing)")
def devices_exceed_node(pods: PodGroup) -> Iterator[Found]:
    """More GPUs or EFA devices than any node of the pod's instance types has: the pod stays Pending for ever."""
    types = node_types(pods)
    for resource, field in ((GPU_RESOURCE, "gpus"), (EFA_RESOURCE, "efa_interfaces")):
        asked, holder = pods.total(resource), pods.holder(resource)
        most = max((getattr(one, field) for one in types), default=None)
        if most is not None and holder and asked > most:
            names = ", ".join(one.name for one in types)
            waits = "and the pod stays Pending unless a plugin divides them"
            problem = f"the {pods.role} requests {asked}, but {names} has {most}, {waits}"
            fix = f"request {most} or fewer" if most else "remove it"
            yield Found(holder.place(resource), problem, f"{fix}, or choose another type")


@warning("The pod stays Pending; Kubernetes and the system take a part of the node besides")
def amounts_exceed_node(pods: PodGroup) -> Iterator[Found]:
    """More CPUs or memory than any node of the pod's instance types has: the pod stays Pending for ever."""
    types = node_types(pods)
    for resource, field, unit, size in (("cpu", "vcpus", "CPUs", 1), ("memory", "memory_gib", "GiB", GI)):
        asked, holder = pods.total(resource), pods.holder(resource)
        most = max((getattr(one, field) for one in types), default=None)
        if most is not None and holder and asked > most * size:
            names = ", ".join(one.name for one in types)
            problem = f"the {pods.role} requests {float(asked / size):g} {unit}, but {names} has {most}"
            fix = f"request less than {most} {unit}, or choose another type"
            yield Found(holder.place(resource), f"{problem}, and the pod stays Pending", fix)
