"""Where and when the cluster starts a job's pods: gang, queue, priority, placement, Spot."""

from typing import Annotated, Any

from training_workloads.catalog.nodes import (
    CAPACITY_BLOCK,
    CAPACITY_TYPE_LABEL,
    HOLD_LABEL,
    KARPENTER_CAPACITY_TYPE_LABEL,
    NODE_GROUP_LABEL,
    PLACEMENT_GROUP_LABEL,
    CapacityType,
)
from training_workloads.mpijob.api import JOB_NAME_LABEL, JOB_ROLE_LABEL, QUEUE_LABEL, WORKER
from training_workloads.mpijob.mpi_job import SchedulingPolicy
from training_workloads.names import LABEL_VALUE, dns_label, dns_subdomain, label_key
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, matches

__all__ = ["Scheduling", "not_on_spot"]

_ON_DEMAND: CapacityType = "ON_DEMAND"
_SPOT: CapacityType = "SPOT"

# Of the pods: https://kueue.sigs.k8s.io/docs/tasks/run/topology_aware_scheduling/ (read 2026-11-23)
_TOPOLOGY = f"{QUEUE_LABEL.partition('/')[0]}/podset"
_TOPOLOGIES = ("required_topology", "preferred_topology")

_NodeLabel = Annotated[str, Checked(label_key)]
_A_NODE_GROUP = "the name of a node group, as in cluster.yaml, such as gpu"


class Scheduling(Spec):
    """Where and when the cluster starts a job's pods. By default a pod starts as soon as a node has room for it.

    Attributes:
        gang: Whether all workers start together or none does, so that two jobs cannot each hold half of the nodes that
            both need. It has an effect where the operator has a gang scheduler, and there the operator makes a gang of
            every job, this one or not; here it gets the priority and, for elastic jobs, the smaller number.
            Default: no gang.
        queue: Kueue's LocalQueue, in the job's namespace. The job is suspended until the queue admits it, which it
            never does where Kueue does not run. Default: no queue.
        priority_class: Name of a PriorityClass; pods of a higher one start first, and may evict others.
            Default: the cluster's default class.
        spread_over: Key of a node label over whose values the workers are spread evenly, such as
            `kubernetes.io/hostname`. A worker that would not fit like that stays Pending. Default: as the scheduler
            places them.
        colocate_in: Key of a node label that all workers must find with one value, such as
            `topology.kubernetes.io/zone` or, on EKS, `topology.k8s.aws/network-node-layer-3`
            (https://docs.aws.amazon.com/eks/latest/userguide/ml-workload-topology.html). Default: anywhere.
        capacity_type: `ON_DEMAND`, `SPOT` or `CAPACITY_BLOCK`: capacity type of the workers' nodes. Default: any.
            The launcher, whose loss ends the job, never runs on Spot nodes. Only a job that names ON_DEMAND, which a
            reservation is too, holds its nodes against updates. EKS evicts the pods of any other: that is their signal
            to save a checkpoint, which a job on Spot capacity or a Capacity Block must get.
        node_group: Name of the node group of all workers, as in `cluster.yaml`. Default: every group with
            the job's instance type.
        placement_group: Whether all workers run in one cluster placement group, whichever it is. Default: no.
        required_topology: Key of a node label that all workers must find with one value, chosen by Kueue before the job
            starts; a level of the queue's topology, such as `topology.k8s.aws/network-node-layer-2`. Default: anywhere.
        preferred_topology: The same, where Kueue takes the next wider level if one value has no room for all workers.
            Default: anywhere.
    """

    gang: bool = False
    # The value of a label has at most 63 characters, which is narrower than the LocalQueue's own name.
    queue: Annotated[str, Checked(dns_label)] | None = None
    priority_class: Annotated[str, Checked(dns_subdomain)] | None = None
    spread_over: _NodeLabel | None = None
    colocate_in: _NodeLabel | None = None
    capacity_type: CapacityType | None = None
    node_group: Annotated[str, Checked(matches, rf"(?!$){LABEL_VALUE}", _A_NODE_GROUP)] | None = None
    placement_group: bool = False
    required_topology: _NodeLabel | None = None
    preferred_topology: _NodeLabel | None = None

    def labels(self) -> dict[str, str]:
        """Return labels of the MPIJob."""
        return {QUEUE_LABEL: self.queue} if self.queue else {}

    def suspend(self) -> bool | None:
        """Return whether the job waits for its queue; None where there is none."""
        # Kueue's webhook does so too. Here as well, so that without Kueue the job waits instead of jumping the queue.
        return True if self.queue else None

    def gang_policy(self, workers: int) -> SchedulingPolicy | None:
        """Return the gang: a number of workers and the launcher, which start together; None without a gang."""
        return SchedulingPolicy(min_available=workers + 1, priority_class=self.priority_class) if self.gang else None

    def pod_labels(self) -> dict[str, str]:
        """Return labels of every pod of the job: whether an update of its node waits for it.

        EKS drains the nodes of Spot capacity and of a Capacity Block shortly before they go. A job of any capacity may
        be on them, so only one that names On-Demand capacity is held.
        """
        return {HOLD_LABEL: "true"} if self.capacity_type == _ON_DEMAND else {}

    def pod_fields(self) -> dict[str, Any]:
        """Return fields of every pod of the job."""
        return {"priorityClassName": self.priority_class} if self.priority_class else {}

    def node_selector(self) -> dict[str, str]:
        """Return labels of the workers' nodes, beside those of their instance type."""
        labels = {CAPACITY_TYPE_LABEL: self.capacity_type, NODE_GROUP_LABEL: self.node_group}
        return {label: value for label, value in labels.items() if value}

    def worker_annotations(self) -> dict[str, str]:
        """Return annotations of the workers' pods, by which Kueue places them."""
        levels = {"required": self.required_topology, "preferred": self.preferred_topology}
        return {f"{_TOPOLOGY}-{kind}-topology": level for kind, level in levels.items() if level}

    def worker_fields(self, job: str, workers: int) -> dict[str, Any]:
        """Return fields of the workers' pods, which a selector finds by the job's name."""
        selector = {"matchLabels": {JOB_NAME_LABEL: job, JOB_ROLE_LABEL: WORKER}}
        fields: dict[str, Any] = self.pod_fields()
        if self.spread_over:
            evenly = {"maxSkew": 1, "topologyKey": self.spread_over, "whenUnsatisfiable": "DoNotSchedule"}
            # Where nodes start for the job, the first would take all the workers that it has room for.
            evenly |= {"minDomains": min(2, workers)}
            fields["topologySpreadConstraints"] = [{**evenly, "labelSelector": selector}]
        shared = [self.colocate_in, PLACEMENT_GROUP_LABEL if self.placement_group else None]
        if together := [{"topologyKey": label, "labelSelector": selector} for label in dict.fromkeys(shared) if label]:
            fields["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": together}}
        return fields


@Scheduling.rule
def _placement(scheduling: Scheduling) -> Problems:
    if scheduling.spread_over is not None and scheduling.spread_over == scheduling.colocate_in:
        yield Problem(
            path=("spread_over",),
            given=scheduling.spread_over,
            allowed="the label to colocate in is the same, and workers cannot be apart and together",
            fix="give one of the two, or different labels",
            related=(("colocate_in",),),
        )


@Scheduling.rule
def _one_group(scheduling: Scheduling) -> Problems:
    groups = (NODE_GROUP_LABEL, PLACEMENT_GROUP_LABEL)
    kept = {"node_group": scheduling.node_group is not None, "placement_group": scheduling.placement_group}
    if any(kept.values()) and scheduling.spread_over in groups:
        name = next(name for name, is_kept in kept.items() if is_kept)
        allowed = f"all workers are in one {name.replace('_', ' ')}"
        fix, related = "give one of the two", ((name,),)
        yield Problem(path=("spread_over",), given=scheduling.spread_over, allowed=allowed, fix=fix, related=related)
    if kept["placement_group"] and scheduling.capacity_type == CAPACITY_BLOCK:
        yield Problem(
            path=("placement_group",),
            given=True,
            allowed="the nodes of a Capacity Block have none: EC2 places them close to each other itself",
            fix="omit it, and name the node group to keep the job in one block",
            related=(("capacity_type",),),
        )


@Scheduling.rule
def _topology(scheduling: Scheduling) -> Problems:
    given = [name for name in _TOPOLOGIES if getattr(scheduling, name) is not None]
    if len(given) > 1:
        value, allowed = scheduling.preferred_topology, "a required topology is given too"
        path, related = ("preferred_topology",), (("required_topology",),)
        yield Problem(path=path, given=value, allowed=allowed, fix="give one of the two", related=related)
    elif given and scheduling.queue is None:
        value, allowed = getattr(scheduling, given[0]), "Kueue places the workers, and the job has no queue"
        fix = "give a queue, or colocate the workers by the node label"
        yield Problem(path=(given[0],), given=value, allowed=allowed, fix=fix, related=(("queue",),))


def not_on_spot() -> dict[str, Any]:
    """Return the affinity that keeps a pod off Spot nodes; nodes without a label for it are allowed."""
    spot = {CAPACITY_TYPE_LABEL: _SPOT, KARPENTER_CAPACITY_TYPE_LABEL: _SPOT.lower()}
    off_spot = [{"key": label, "operator": "NotIn", "values": [value]} for label, value in spot.items()]
    terms = {"nodeSelectorTerms": [{"matchExpressions": off_spot}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
