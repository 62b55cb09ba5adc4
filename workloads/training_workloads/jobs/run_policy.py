"""When an MPIJob ends, what is removed then, and how a gang scheduler treats it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from training_workloads.names import check_dns_subdomain
from training_workloads.validation import InputError, check_at_least, check_one_of, check_text

__all__ = ["DAY_SECONDS", "CleanPodPolicy", "Controller", "RunPolicy", "SchedulingPolicy"]

DAY_SECONDS = 24 * 60 * 60

CleanPodPolicy = Literal["None", "Running", "All"]
Controller = Literal["kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"]

# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
_QUANTITY = r"\d+(\.\d+)?(m|k|Ki|[MGTPE]i?|[eE][+-]?\d+)?"


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulingPolicy:
    """How a gang scheduler treats the job's pods; the operator ignores it unless gang scheduling is switched on.

    Attributes:
        min_available: Pods that must fit before any starts; the operator's default is workers + 1.
        queue: Volcano queue.
        min_resources: Resources that the gang needs, by resource name; the operator's default is the pods' sum.
        priority_class: Name of a PriorityClass.
        schedule_timeout_seconds: How long the scheduler-plugins' gang waits; default 0.
    """

    min_available: int | None = None
    queue: str | None = None
    min_resources: dict[str, str] | None = None
    priority_class: str | None = None
    schedule_timeout_seconds: int | None = None

    def __post_init__(self) -> None:
        """Checks the amounts and that no number is negative."""
        for argument in ("min_available", "schedule_timeout_seconds"):
            if getattr(self, argument) is not None:
                check_at_least(argument, getattr(self, argument), 0)
        for argument in ("queue", "priority_class"):
            if getattr(self, argument) is not None:
                check_dns_subdomain(argument, getattr(self, argument))
        if self.min_resources is not None:
            _check_min_resources(self.min_resources)

    def to_wire(self) -> dict[str, Any]:
        """The policy as it stands in the manifest."""
        return _without_none(
            minAvailable=self.min_available,
            queue=self.queue,
            minResources=self.min_resources,
            priorityClass=self.priority_class,
            scheduleTimeoutSeconds=self.schedule_timeout_seconds,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPolicy:
    """When the job ends and what is removed then.

    Attributes:
        clean_pod_policy: Which worker pods are removed when the launcher has ended. Default `Running`: the
            operator's own default keeps the workers, and their GPUs, for ever.
        ttl_seconds_after_finished: Seconds after which the launcher's Job is removed; default never.
        active_deadline_seconds: Seconds after which the job fails; default none.
        backoff_limit: How often the launcher is started again; Kubernetes' default is 6.
        suspend: Whether the job is created without pods, for a queue to start it.
        managed_by: Which controller reconciles the job; the default is the MPI operator. Cannot be changed later.
        scheduling_policy: For gang schedulers; default none.
    """

    clean_pod_policy: CleanPodPolicy = "Running"
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    suspend: bool | None = None
    managed_by: Controller | None = None
    scheduling_policy: SchedulingPolicy | None = None

    def __post_init__(self) -> None:
        """Checks the policies' names and that no limit is negative."""
        check_one_of("clean_pod_policy", self.clean_pod_policy, get_args(CleanPodPolicy))
        if self.managed_by is not None:
            check_one_of("managed_by", self.managed_by, get_args(Controller))
        for argument in ("ttl_seconds_after_finished", "active_deadline_seconds", "backoff_limit"):
            if getattr(self, argument) is not None:
                check_at_least(argument, getattr(self, argument), 0)
        if self.suspend is not None:
            check_one_of("suspend", self.suspend, (True, False))

    def to_wire(self) -> dict[str, Any]:
        """The policy as it stands in the manifest."""
        return _without_none(
            cleanPodPolicy=self.clean_pod_policy,
            ttlSecondsAfterFinished=self.ttl_seconds_after_finished,
            activeDeadlineSeconds=self.active_deadline_seconds,
            backoffLimit=self.backoff_limit,
            suspend=self.suspend,
            managedBy=self.managed_by,
            schedulingPolicy=self.scheduling_policy and self.scheduling_policy.to_wire(),
        )


def _check_min_resources(resources: Any) -> None:
    if not isinstance(resources, Mapping):
        raise InputError(
            f"'min_resources' is {resources!r}; give amounts by the resource's name, such as {{'cpu': '4'}}"
        )
    for name, amount in resources.items():
        check_text("min_resources", name, r"\S+", "the name of a resource, such as nvidia.com/gpu")
        check_text(f"min_resources[{name!r}]", amount, _QUANTITY, "an amount as Kubernetes writes it, such as '512Mi'")


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
