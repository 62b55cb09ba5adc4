"""The MPIJob resource of the MPI operator (kubeflow.org/v2beta1), typed field by field.

Rules that the operator enforces only after the job was accepted (it emits a ValidationError event and stops) are
checked here at construction; they are those of the operator's release that the catalog names.
https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import cdk8s
from constructs import Construct

from training_workloads.errors import InputError, check_at_least, check_one_of, check_text

__all__ = ["API_VERSION", "KIND", "MpiJob", "MpiJobSpec", "ReplicaSpec", "RunPolicy", "SchedulingPolicy"]

API_VERSION = "kubeflow.org/v2beta1"
KIND = "MPIJob"

CleanPodPolicy = Literal["None", "Running", "All"]
RestartPolicy = Literal["Never", "OnFailure"]
LauncherCreationPolicy = Literal["AtStartup", "WaitForWorkersReady"]
MpiImplementation = Literal["OpenMPI", "Intel", "MPICH"]
Controller = Literal["kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"]

_DNS_1035_LABEL = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS_1035_LENGTH = 63


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


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaSpec:
    """The pods of one role.

    Attributes:
        template: A PodTemplateSpec in the Kubernetes wire format, plain scalars only. Only its first container gets
            the operator's mounts and variables, and its own `restartPolicy` is overridden by the one below.
        replicas: How many pods; the launcher has exactly 1.
        restart_policy: `Never` or `OnFailure`; the operator refuses every other.
    """

    template: dict[str, Any]
    replicas: int = 1
    restart_policy: RestartPolicy = "Never"

    def __post_init__(self) -> None:
        """Checks that there is a container, and the restart policy."""
        if not self.template.get("spec", {}).get("containers"):
            raise InputError("'template' has no 'spec.containers'; give at least one container")
        check_one_of("restart_policy", self.restart_policy, get_args(RestartPolicy))

    def to_wire(self) -> dict[str, Any]:
        """The replica spec as it stands in the manifest."""
        return {"replicas": self.replicas, "restartPolicy": self.restart_policy, "template": self.template}


@dataclass(frozen=True, kw_only=True, slots=True)
class MpiJobSpec:
    """An MPIJob: one launcher that runs `mpirun`, and workers that run sshd and the ranks.

    Attributes:
        name: Name of the job. `<name>-worker-<n-1>` must be a DNS-1035 label of at most 63 characters.
        launcher: The launcher's pod.
        worker: The workers' pods, at least 1.
        slots_per_worker: Ranks that a worker can hold; written into the hostfile.
        namespace: Default: the chart's own, else that of kubectl.
        run_policy: When the job ends and what is removed then.
        ssh_auth_mount_path: Where the operator mounts the job's ssh keys.
        launcher_creation_policy: `WaitForWorkersReady` starts the launcher when every worker's readiness probe
            passes; it has no meaning without such a probe.
        mpi_implementation: Which hostfile syntax and variables the operator writes.
        run_launcher_as_worker: Whether the launcher's pod holds ranks too.
    """

    name: str
    launcher: ReplicaSpec
    worker: ReplicaSpec
    slots_per_worker: int
    namespace: str | None = None
    run_policy: RunPolicy = field(default_factory=RunPolicy)
    ssh_auth_mount_path: str = "/root/.ssh"
    launcher_creation_policy: LauncherCreationPolicy = "WaitForWorkersReady"
    mpi_implementation: MpiImplementation = "OpenMPI"
    run_launcher_as_worker: bool = False

    def __post_init__(self) -> None:
        """Checks what the operator would refuse after the job was accepted."""
        check_at_least("worker.replicas", self.worker.replicas, 1)
        check_at_least("slots_per_worker", self.slots_per_worker, 1)
        if self.launcher.replicas != 1:
            raise InputError(f"'launcher.replicas' is {self.launcher.replicas}; an MPIJob has exactly 1 launcher")
        check_one_of("launcher_creation_policy", self.launcher_creation_policy, get_args(LauncherCreationPolicy))
        check_one_of("mpi_implementation", self.mpi_implementation, get_args(MpiImplementation))
        check_text("ssh_auth_mount_path", self.ssh_auth_mount_path, "/.+", "an absolute path")
        _check_name(self.name, self.worker.replicas)
        self._check_gang()

    def _check_gang(self) -> None:
        """A gang that counts the launcher waits for it, while the launcher waits for the workers.

        https://github.com/kubeflow/mpi-operator/issues/608
        """
        policy = self.run_policy.scheduling_policy
        if policy and self.launcher_creation_policy == "WaitForWorkersReady":
            workers = self.worker.replicas
            if policy.min_available is None or policy.min_available > workers:
                raise InputError(
                    f"'scheduling_policy.min_available' is {policy.min_available}, so the gang waits for a launcher "
                    f"that is created after the workers; set it to {workers}, the number of workers, or fewer"
                )

    def to_wire(self) -> dict[str, Any]:
        """The `spec` as it stands in the manifest."""
        return {
            "slotsPerWorker": self.slots_per_worker,
            "runLauncherAsWorker": self.run_launcher_as_worker,
            "sshAuthMountPath": self.ssh_auth_mount_path,
            "launcherCreationPolicy": self.launcher_creation_policy,
            "mpiImplementation": self.mpi_implementation,
            "runPolicy": self.run_policy.to_wire(),
            "mpiReplicaSpecs": {"Launcher": self.launcher.to_wire(), "Worker": self.worker.to_wire()},
        }


class MpiJob(cdk8s.ApiObject):
    """An MPIJob in a chart.

    Attributes:
        spec: What it was made from.
    """

    def __init__(self, scope: Construct, id: str, *, spec: MpiJobSpec) -> None:
        """Defines the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        metadata = cdk8s.ApiObjectMetadata(name=spec.name, namespace=spec.namespace)
        super().__init__(scope, id, api_version=API_VERSION, kind=KIND, metadata=metadata)
        self.spec = spec
        self.add_json_patch(cdk8s.JsonPatch.add("/spec", spec.to_wire()))


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _check_name(name: str, workers: int) -> None:
    """The operator's rule on names, for the longest name that it makes from this one."""
    rule = "lower-case letters, digits and '-', a letter first and no '-' at the end"
    check_text("name", name, _DNS_1035_LABEL, rule)
    suffix = f"-worker-{workers - 1}"
    limit = _DNS_1035_LENGTH - len(suffix)
    if len(name) > limit:
        raise InputError(
            f"'name' is {name!r} with {len(name)} characters, but with {workers} workers the operator makes pods named "
            f"'<name>{suffix}' of at most {_DNS_1035_LENGTH}; use a name of {limit} characters or fewer"
        )
