"""Kueue's objects of one queue: a flavor for each node group, the quota, the queue's entrances, and the topologies.

The API: https://github.com/kubernetes-sigs/kueue/tree/main/apis/kueue/v1beta2 (read 2026-11-23).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from training_workloads.catalog import InstanceType
from training_workloads.catalog.nodes import (
    CAPACITY_TYPE_LABEL,
    EFA_HUGEPAGES_MIB,
    EFA_RESOURCE,
    GPU_RESOURCE,
    GPU_TAINT_KEY,
    HOSTNAME_LABEL,
    HUGEPAGES_RESOURCE,
    INSTANCE_TYPE_LABEL,
    NAMESPACE_NAME_LABEL,
    NODE_GROUP_LABEL,
    PLACEMENT_GROUP_LABEL,
    CapacityType,
    network_labels,
)
from training_workloads.jobs.mpi_pods import LAUNCHER_CPU_MILLIS, LAUNCHER_MEMORY_GIB
from training_workloads.jobs.worker_resources import worker_resources
from training_workloads.mpijob.api import QUEUE_LABEL
from training_workloads.names import DNS_LABEL_LENGTH

__all__ = [
    "KUEUE_NAMESPACE",
    "LAUNCHER_FLAVOR",
    "MOST_FLAVORS",
    "RESOURCES",
    "QueuedNodes",
    "cluster_queue",
    "flavor_name",
    "launcher_flavor",
    "launcher_quota",
    "local_queue",
    "queue_spec",
    "topology_name",
    "topology_of",
]

_GROUP = QUEUE_LABEL.partition("/")[0]
_API_VERSION = f"{_GROUP}/v1beta2"

#: Kueue's own namespace.
KUEUE_NAMESPACE = "kueue-system"

#: The resources of the quota: each flavor names all of them, in this order.
RESOURCES = ("cpu", "memory", GPU_RESOURCE, EFA_RESOURCE, HUGEPAGES_RESOURCE)

#: The flavor of the pods without GPUs.
LAUNCHER_FLAVOR = "launchers"

#: Flavors of a ClusterQueue, that of the launchers included: "it can contain up to 64 flavors". In v1beta1 it was 16.
#: https://github.com/kubernetes-sigs/kueue/blob/main/apis/kueue/v1beta2/clusterqueue_types.go (read 2026-11-23)
MOST_FLAVORS = 64

# Kueue takes the first flavor with enough quota, so "list ResourceFlavors from the most preferred to the least
# preferred": reservation, On-Demand, Spot
# (https://kueue.sigs.k8s.io/docs/tasks/manage/setup_concurrent_admission/, read 2026-11-23). A reservation is paid for
# in any case. A Capacity Block is too, but its quota counts before the block begins and after it ends: a job of any
# capacity that was admitted there would wait for it, beside nodes that are free. So it is the last.
_RESERVED = "reserved"
_PREFERRED = (_RESERVED, "ON_DEMAND", "SPOT", "CAPACITY_BLOCK")

# Kueue wants a label where there is a topology; this one is on every node of this project. Its GPU nodes have a taint
# that no launcher tolerates.
_ANY_NODE = {"kubernetes.io/os": "linux"}


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedNodes:
    """The nodes of one GPU node group, as a queue counts them.

    Attributes:
        group: Name of the node group, the value of its nodes' label.
        instance: Their type.
        nodes: Maximum number of nodes.
        efa_interfaces: EFA devices of each node.
        capacity_type: Their capacity type.
        reserved: Whether they run in a reservation or a Capacity Block.
        in_placement_group: Whether they have a placement group, and so its label.
    """

    group: str
    instance: InstanceType
    nodes: int
    efa_interfaces: int
    capacity_type: CapacityType
    reserved: bool = False
    in_placement_group: bool = False

    @property
    def flavor(self) -> str:
        """Name of the flavor."""
        return flavor_name(self.group)

    @property
    def preference(self) -> int:
        """Return the place of these nodes in the order in which Kueue tries flavors, 0 the first."""
        reserved = self.reserved and self.capacity_type == "ON_DEMAND"
        return _PREFERRED.index(_RESERVED if reserved else self.capacity_type)

    @property
    def levels(self) -> tuple[str, ...]:
        """Labels by which these nodes are near to each other, the widest first."""
        placed = (PLACEMENT_GROUP_LABEL,) if self.in_placement_group else ()
        return (*placed, *network_labels(self.instance.name), HOSTNAME_LABEL)

    def resource_flavor(self, topology: str | None = None) -> dict[str, Any]:
        """Return the flavor: Kueue adds its labels to the pods' node selectors, so a job stays in one node group.

        Args:
            topology: Name of the topology. Default: Kueue counts the quota and leaves the places to the scheduler.
        """
        labels = {
            NODE_GROUP_LABEL: self.group,
            INSTANCE_TYPE_LABEL: self.instance.name,
            CAPACITY_TYPE_LABEL: self.capacity_type,
        }
        # Without the taint a launcher would get this flavor, and so a node selector for nodes that it cannot use.
        taints = [{"key": GPU_TAINT_KEY, "value": "true", "effect": "NoSchedule"}]
        spec = {"nodeLabels": labels, "nodeTaints": taints}
        return _object("ResourceFlavor", self.flavor, spec | ({"topologyName": topology} if topology else {}))

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return self.instance.gpus * self.nodes

    def quota(self, *, without: Iterable[int] = ()) -> dict[str, Any]:
        """Return the amounts that jobs can request of all nodes, without those that are left to daemons.

        Args:
            without: GPUs of the shares of others. Default: none.
        """
        shares = [self._amounts(gpus) for gpus in without]
        rest = {
            name: of_all - sum(share[name] for share in shares) for name, of_all in self._amounts(self.gpus).items()
        }
        return self._quota(rest)

    def share(self, gpus: int) -> dict[str, Any]:
        """Return the amounts that belong to a number of the GPUs."""
        return self._quota(self._amounts(gpus))

    def _amounts(self, gpus: int) -> dict[str, int]:
        """Return vCPUs, GiB of memory, devices and MiB of huge pages beside a number of GPUs, rounded down."""
        whole = worker_resources(self.instance, efa_interfaces=0)
        node = {
            "cpu": whole.cpus,
            # A job without EFA takes no huge pages, and has their memory instead.
            "memory": whole.memory_gib,
            GPU_RESOURCE: whole.gpus,
            EFA_RESOURCE: self.efa_interfaces,
            HUGEPAGES_RESOURCE: EFA_HUGEPAGES_MIB if self.efa_interfaces else 0,
        }
        return {name: amount * gpus // whole.gpus for name, amount in node.items()}

    def _quota(self, amounts: dict[str, int]) -> dict[str, Any]:
        units = {"memory": f"{amounts['memory']}Gi", HUGEPAGES_RESOURCE: f"{amounts[HUGEPAGES_RESOURCE]}Mi"}
        return _flavor_quota(self.flavor, amounts | units)


def flavor_name(group: str) -> str:
    """Return the name of a node group's flavor: the group's, as an object of Kubernetes can have it."""
    return group[:DNS_LABEL_LENGTH].strip("-_.").lower().replace("_", "-")


def launcher_flavor(topology: str | None = None) -> dict[str, Any]:
    """Return the flavor of the launchers, on nodes without GPUs; all flavors of a queue have the topology, or none."""
    spec = {"nodeLabels": _ANY_NODE, "topologyName": topology} if topology else {}
    return _object("ResourceFlavor", LAUNCHER_FLAVOR, spec)


def launcher_quota(jobs: int) -> dict[str, Any]:
    """Return the quota for the launchers of as many jobs at once."""
    amounts = {"cpu": f"{LAUNCHER_CPU_MILLIS * jobs}m", "memory": f"{LAUNCHER_MEMORY_GIB * jobs}Gi"}
    return _flavor_quota(LAUNCHER_FLAVOR, amounts)


def cluster_queue(name: str, spec: Any) -> dict[str, Any]:
    """Return a queue with a result of `queue_spec`; an app of the CDK gives a token for it."""
    return _object("ClusterQueue", name, spec)


def queue_spec(
    flavors: list[dict[str, Any]], *, namespace: str | None = None, cohort: str | None = None
) -> dict[str, Any]:
    """Return the quota of a queue.

    Args:
        flavors: Results of `QueuedNodes.quota` or `share`, and of `launcher_quota`, in the order in which Kueue tries
            them.
        namespace: The only namespace whose jobs enter. Default: all that have an entrance.
        cohort: Queues with this name lend each other what they do not use. Default: the queue lends and borrows none.
    """
    # An empty selector admits every namespace; without it none is admitted.
    selector = {"matchLabels": {NAMESPACE_NAME_LABEL: namespace}} if namespace else {}
    group = {"coveredResources": list(RESOURCES), "flavors": flavors}
    return {"namespaceSelector": selector, "resourceGroups": [group]} | (_lending(cohort) if cohort else {})


def _lending(cohort: str) -> dict[str, Any]:
    return {
        "cohortName": cohort,
        # The own quota comes back from who borrows it, whatever the priority of the job that has to stop.
        "preemption": {"reclaimWithinCohort": "Any"},
        # A job on borrowed nodes may have to stop, so nodes of the own quota come first, of any flavor.
        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"},
    }


def local_queue(name: str, namespace: str, queue: str | None = None) -> dict[str, Any]:
    """Return the entrance of a namespace, which jobs name.

    Args:
        name: Name of the entrance.
        namespace: Namespace of the jobs.
        queue: The cluster queue behind it. Default: that of the same name.
    """
    entrance = _object("LocalQueue", name, {"clusterQueue": queue or name})
    entrance["metadata"]["namespace"] = namespace
    return entrance


def topology_name(levels: tuple[str, ...]) -> str:
    """Return the name of a topology: whether it has placement groups, and the number of its layers of the network."""
    placed = PLACEMENT_GROUP_LABEL in levels
    return f"{'placement-group-' if placed else ''}network-layers-{len(levels) - 1 - placed}"


def topology_of(levels: tuple[str, ...]) -> dict[str, Any]:
    """Return the topology of `QueuedNodes.levels`; Kueue does not see a node without one of these labels."""
    return _object("Topology", topology_name(levels), {"levels": [{"nodeLabel": label} for label in levels]})


def _flavor_quota(flavor: str, amounts: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": flavor,
        "resources": [{"name": name, "nominalQuota": amounts.get(name, 0)} for name in RESOURCES],
    }


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
