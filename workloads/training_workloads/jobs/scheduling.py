"""Where and when the cluster starts a job's pods: gang, queue, priority, placement, Spot."""

from dataclasses import dataclass
from typing import Any, get_args

from training_workloads.catalog.nodes import CAPACITY_TYPE_LABEL, KARPENTER_CAPACITY_TYPE_LABEL, CapacityType
from training_workloads.mpijob.spec import JOB_NAME_LABEL, JOB_ROLE_LABEL, QUEUE_LABEL, WORKER, SchedulingPolicy
from training_workloads.names import check_dns_label, check_dns_subdomain, check_label_key
from training_workloads.validation import InputError, check_one_of, enforce

__all__ = ["Scheduling", "not_on_spot"]

_SPOT: CapacityType = "SPOT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduling:
    """Where and when the cluster starts a job's pods. By default a pod starts as soon as a node has room for it.

    Attributes:
        gang: Whether all workers start together or none does, so that two jobs cannot each hold half of the nodes that
            both need. It has an effect where the operator was told of a gang scheduler, and there the operator makes a
            gang of every job, this one or not; here it gets the priority and, for elastic jobs, the smaller number.
        queue: Kueue's LocalQueue, in the job's namespace. The job is suspended until the queue admits it, which it
            never does where Kueue does not run.
        priority_class: Name of a PriorityClass; pods of a higher one go first, and may push others out.
        spread_over: Key of a node label over whose values the workers are spread evenly, such as
            `kubernetes.io/hostname`. A worker that would not fit like that stays Pending.
        colocate_in: Key of a node label that all workers must find with one value, such as
            `topology.kubernetes.io/zone` or, on EKS, `topology.k8s.aws/network-node-layer-3`
            (https://docs.aws.amazon.com/eks/latest/userguide/ml-workload-topology.html).
        capacity_type: `ON_DEMAND`, `SPOT` or `CAPACITY_BLOCK`: what the workers' nodes were bought as. Default: any.
            The launcher, whose loss ends the job, keeps off Spot nodes in any case.
    """

    gang: bool = False
    queue: str | None = None
    priority_class: str | None = None
    spread_over: str | None = None
    colocate_in: str | None = None
    capacity_type: CapacityType | None = None

    def __post_init__(self) -> None:
        """Checks the names, and that the workers are not to be spread and together by one label."""
        enforce(self, _RULES)

    def labels(self) -> dict[str, str]:
        """Labels of the MPIJob."""
        return {QUEUE_LABEL: self.queue} if self.queue else {}

    def suspend(self) -> bool | None:
        """Whether the job waits for its queue; None where there is none."""
        # Kueue's webhook would do so too. Said here, so that without Kueue the job waits instead of jumping the queue.
        return True if self.queue else None

    def gang_policy(self, workers: int) -> SchedulingPolicy | None:
        """What the gang scheduler is told to start together: so many workers, and the launcher; None without a gang."""
        return SchedulingPolicy(min_available=workers + 1, priority_class=self.priority_class) if self.gang else None

    def pod_fields(self) -> dict[str, Any]:
        """Fields of every pod of the job."""
        return {"priorityClassName": self.priority_class} if self.priority_class else {}

    def node_selector(self) -> dict[str, str]:
        """Labels of the workers' nodes, beside those of their instance type."""
        return {CAPACITY_TYPE_LABEL: self.capacity_type} if self.capacity_type else {}

    def worker_fields(self, job: str, workers: int) -> dict[str, Any]:
        """Fields of the workers' pods, which are known by the job's name."""
        selector = {"matchLabels": {JOB_NAME_LABEL: job, JOB_ROLE_LABEL: WORKER}}
        fields: dict[str, Any] = self.pod_fields()
        if self.spread_over:
            evenly = {"maxSkew": 1, "topologyKey": self.spread_over, "whenUnsatisfiable": "DoNotSchedule"}
            # Where nodes are started for the job, the first would take all the workers that it has room for.
            evenly |= {"minDomains": min(2, workers)}
            fields["topologySpreadConstraints"] = [{**evenly, "labelSelector": selector}]
        if self.colocate_in:
            together = {"topologyKey": self.colocate_in, "labelSelector": selector}
            fields["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [together]}}
        return fields


def not_on_spot() -> dict[str, Any]:
    """The affinity that keeps a pod off nodes which EC2 may take back; nodes that do not say what they are will do."""
    spot = {CAPACITY_TYPE_LABEL: _SPOT, KARPENTER_CAPACITY_TYPE_LABEL: _SPOT.lower()}
    off_spot = [{"key": label, "operator": "NotIn", "values": [value]} for label, value in spot.items()]
    terms = {"nodeSelectorTerms": [{"matchExpressions": off_spot}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _check_flag(scheduling: Scheduling) -> None:
    check_one_of("gang", scheduling.gang, (True, False))


def _check_queue(scheduling: Scheduling) -> None:
    if scheduling.queue is not None:
        # The value of a label has at most 63 characters, which is narrower than the LocalQueue's own name.
        check_dns_label("queue", scheduling.queue)


def _check_priority_class(scheduling: Scheduling) -> None:
    if scheduling.priority_class is not None:
        check_dns_subdomain("priority_class", scheduling.priority_class)


def _check_placement(scheduling: Scheduling) -> None:
    for argument in ("spread_over", "colocate_in"):
        if getattr(scheduling, argument) is not None:
            check_label_key(argument, getattr(scheduling, argument))
    if scheduling.spread_over is not None and scheduling.spread_over == scheduling.colocate_in:
        raise InputError(
            f"'spread_over' and 'colocate_in' are both {scheduling.spread_over!r}; workers cannot be apart and "
            "together: give one of the two, or different labels"
        )


def _check_capacity_type(scheduling: Scheduling) -> None:
    if scheduling.capacity_type is not None:
        check_one_of("capacity_type", scheduling.capacity_type, get_args(CapacityType))


_RULES = (_check_flag, _check_queue, _check_priority_class, _check_placement, _check_capacity_type)
