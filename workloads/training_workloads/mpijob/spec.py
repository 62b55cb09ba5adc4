"""The MPIJob resource of the MPI operator (kubeflow.org/v2beta1), typed field by field.

The operator enforces some rules only after the API server accepted a job: it emits a ValidationError event and stops.
The same rules, those of the operator's release in the catalog, run here at construction.
https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from training_workloads.manifests.values import AMOUNT
from training_workloads.mpijob.bounds import DEADLINE_SECONDS, LAUNCHERS, SLOTS, WORKERS
from training_workloads.mpijob.pod_schema import pod_template_schema
from training_workloads.mpijob.undecodable import undecodable
from training_workloads.names import (
    LABEL_KEY,
    annotations,
    dns_1035_label,
    dns_label,
    dns_subdomain,
    labels,
    leaves_room,
)
from training_workloads.validation import (
    MISSING,
    Path,
    Problem,
    Problems,
    at_least,
    enforce,
    instance_of,
    matches,
    one_of,
)

__all__ = [
    "API_VERSION",
    "DAY_SECONDS",
    "JOB_NAME_LABEL",
    "JOB_ROLE_LABEL",
    "KIND",
    "LAUNCHER",
    "PREDICTION_ANNOTATION",
    "QUEUE_LABEL",
    "WORKER",
    "CleanPodPolicy",
    "Controller",
    "LauncherCreationPolicy",
    "MpiImplementation",
    "MpiJobSpec",
    "ReplicaSpec",
    "RestartPolicy",
    "RunPolicy",
    "SchedulingPolicy",
    "job_name",
]

API_VERSION = "kubeflow.org/v2beta1"
KIND = "MPIJob"

#: Labels that the operator sets on a job's pods: the job's name, and the pod's role in the job.
#: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/constants.go
JOB_NAME_LABEL = "training.kubeflow.org/job-name"
JOB_ROLE_LABEL = "training.kubeflow.org/job-role"
LAUNCHER = "launcher"
WORKER = "worker"

#: Kueue puts a job with this label into that LocalQueue (https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/mpijobs/).
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"

#: Of a job: its predicted speed as JSON, with the ranks for which it was calculated.
PREDICTION_ANNOTATION = "training-cluster/prediction"

DAY_SECONDS = 24 * 60 * 60

RestartPolicy = Literal["Never", "OnFailure"]
LauncherCreationPolicy = Literal["AtStartup", "WaitForWorkersReady"]
MpiImplementation = Literal["OpenMPI", "Intel", "MPICH"]
CleanPodPolicy = Literal["None", "Running", "All"]
Controller = Literal["kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulingPolicy:
    """How a gang scheduler treats the job's pods; without gang scheduling the operator ignores it.

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
        """Check the amounts and the names."""
        enforce(self, (_policy_numbers, _policy_names, _min_resources))

    def to_wire(self) -> dict[str, Any]:
        """Return the policy in the Kubernetes wire format."""
        return _without_none(
            minAvailable=self.min_available,
            queue=self.queue,
            minResources=self.min_resources,
            priorityClass=self.priority_class,
            scheduleTimeoutSeconds=self.schedule_timeout_seconds,
        )


def _policy_numbers(policy: SchedulingPolicy) -> Problems:
    for name in ("min_available", "schedule_timeout_seconds"):
        yield from _if_given(policy, name, lambda name, value: at_least(name, value, 0))


def _policy_names(policy: SchedulingPolicy) -> Problems:
    for name in ("queue", "priority_class"):
        yield from _if_given(policy, name, dns_subdomain)


def _min_resources(policy: SchedulingPolicy) -> Problems:
    resources: Any = policy.min_resources
    if resources is None:
        return
    if not isinstance(resources, Mapping):
        fix = "give amounts by the resource's name, such as {'cpu': '4'}"
        yield Problem(path=("min_resources",), given=resources, fix=fix)
        return
    for name, amount in resources.items():
        yield from matches("min_resources", name, LABEL_KEY, "the name of a resource, such as nvidia.com/gpu")
        for problem in matches(str(name), amount, AMOUNT, "an amount as Kubernetes writes it, such as '512Mi'"):
            yield problem.under("min_resources")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPolicy:
    """When the job ends and what the operator deletes then.

    Attributes:
        clean_pod_policy: Which worker pods the operator deletes when the launcher has ended. Default `Running`: the
            operator's own default keeps the workers, and their GPUs, for ever.
        ttl_seconds_after_finished: Seconds after which the launcher's Job is deleted; default never.
        active_deadline_seconds: Seconds after which the job fails; default none.
        backoff_limit: How often the launcher restarts; Kubernetes' default is 6.
        suspend: Whether the job is created without pods, for a queue to start it; the operator's default is False.
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
        """Check the policies' names and that no limit is negative."""
        enforce(self, (_run_choices, _run_limits))

    def to_wire(self) -> dict[str, Any]:
        """Return the policy in the Kubernetes wire format."""
        return _without_none(
            cleanPodPolicy=self.clean_pod_policy,
            ttlSecondsAfterFinished=self.ttl_seconds_after_finished,
            activeDeadlineSeconds=self.active_deadline_seconds,
            backoffLimit=self.backoff_limit,
            suspend=self.suspend,
            managedBy=self.managed_by,
            schedulingPolicy=self.scheduling_policy and self.scheduling_policy.to_wire(),
        )


def _run_choices(policy: RunPolicy) -> Problems:
    yield from one_of("clean_pod_policy", policy.clean_pod_policy, get_args(CleanPodPolicy))
    yield from _if_given(policy, "managed_by", lambda name, value: one_of(name, value, get_args(Controller)))
    yield from _if_given(policy, "suspend", lambda name, value: one_of(name, value, (True, False)))
    yield from _if_given(policy, "scheduling_policy", lambda name, value: instance_of(name, value, SchedulingPolicy))


def _run_limits(policy: RunPolicy) -> Problems:
    yield from _if_given(policy, "ttl_seconds_after_finished", lambda name, value: at_least(name, value, 0))
    yield from _if_given(policy, "backoff_limit", lambda name, value: at_least(name, value, 0, *LAUNCHERS))
    yield from _if_given(
        policy, "active_deadline_seconds", lambda name, value: at_least(name, value, 0, *DEADLINE_SECONDS)
    )


def _if_given(spec: object, name: str, check: Callable[[str, Any], Problems]) -> Problems:
    """Check an attribute that may be None."""
    if (value := getattr(spec, name)) is not None:
        yield from check(name, value)


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaSpec:
    """The pods of one role.

    Attributes:
        template: A PodTemplateSpec in the Kubernetes wire format, plain scalars only. Only its first container gets
            the operator's mounts and variables, and its own `restartPolicy` is overridden by the one below.
        replicas: How many pods; the launcher has exactly 1. Default: 1.
        restart_policy: `Never` (default) or `OnFailure`; the operator rejects every other.
    """

    template: dict[str, Any]
    replicas: int = 1
    restart_policy: RestartPolicy = "Never"

    def __post_init__(self) -> None:
        """Check that there is a container, and the restart policy."""
        enforce(self, (_template, _restart_policy))

    def to_wire(self) -> dict[str, Any]:
        """Return the replica spec in the Kubernetes wire format."""
        return {"replicas": self.replicas, "restartPolicy": self.restart_policy, "template": self.template}


def _template(spec: ReplicaSpec) -> Problems:
    template: Any = spec.template
    pod = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(pod, dict):
        fix = "give a PodTemplateSpec as a dictionary: {'spec': {…}}"
        yield Problem(path=("template",), given=template, fix=fix)
    elif not pod.get("containers"):
        given = pod.get("containers", MISSING)
        yield Problem(path=("template", "spec", "containers"), given=given, fix="give at least one container")
    else:
        yield from undecodable(pod_template_schema(), template, ("template",))
        yield from _nul_characters(template, ("template",))


def _nul_characters(value: Any, path: Path) -> Problems:
    """Reject what no process can get: its variables and arguments end at the first NUL."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _nul_characters(inner, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _nul_characters(inner, (*path, number))
    elif isinstance(value, str) and "\0" in value:
        yield Problem(path=path, given=value, fix="give a text without NUL characters")


def _restart_policy(spec: ReplicaSpec) -> Problems:
    yield from one_of("restart_policy", spec.restart_policy, get_args(RestartPolicy))


@dataclass(frozen=True, kw_only=True, slots=True)
class MpiJobSpec:
    """An MPIJob: one launcher that runs `mpirun`, and workers that run sshd and the ranks.

    Attributes:
        name: Name of the job. `<name>-worker-<n-1>` must be a DNS-1035 label of at most 63 characters.
        launcher: The launcher's pod.
        worker: The workers' pods, at least 1. None: the launcher holds all ranks, with `run_launcher_as_worker`.
        slots_per_worker: Ranks that a worker can hold; written into the hostfile.
        namespace: Default: the chart's own, else that of kubectl.
        labels: Labels of the MPIJob itself, such as Kueue's queue. Default: none.
        annotations: Annotations of the MPIJob itself. Default: none.
        run_policy: When the job ends and what is removed then. Default: no limits; running workers are removed.
        ssh_auth_mount_path: Where the operator mounts the job's ssh keys. Default: `/root/.ssh`.
        launcher_creation_policy: `WaitForWorkersReady` (default) starts the launcher when every worker's readiness
            probe passes; it has no meaning without such a probe. `AtStartup` starts it with the workers.
        mpi_implementation: Which hostfile syntax and variables the operator writes: `OpenMPI` (default), `Intel` or
            `MPICH`.
        run_launcher_as_worker: Whether the launcher's pod holds ranks too. Default: it does not.
    """

    name: str
    launcher: ReplicaSpec
    worker: ReplicaSpec | None
    slots_per_worker: int
    namespace: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    run_policy: RunPolicy = field(default_factory=RunPolicy)
    ssh_auth_mount_path: str = "/root/.ssh"
    launcher_creation_policy: LauncherCreationPolicy = "WaitForWorkersReady"
    mpi_implementation: MpiImplementation = "OpenMPI"
    run_launcher_as_worker: bool = False

    def __post_init__(self) -> None:
        """Check what the operator would reject after the API server accepted the job."""
        enforce(self, (_parts,))
        enforce(self, (_replicas, _values, _name, _gang))

    @property
    def workers(self) -> int:
        """Worker pods."""
        return self.worker.replicas if self.worker else 0

    @property
    def world_size(self) -> int:
        """Ranks that the hostfile has slots for."""
        return (self.workers + self.run_launcher_as_worker) * self.slots_per_worker

    def to_wire(self) -> dict[str, Any]:
        """Return the `spec` in the Kubernetes wire format."""
        return {
            "slotsPerWorker": self.slots_per_worker,
            "runLauncherAsWorker": self.run_launcher_as_worker,
            "sshAuthMountPath": self.ssh_auth_mount_path,
            "launcherCreationPolicy": self.launcher_creation_policy,
            "mpiImplementation": self.mpi_implementation,
            "runPolicy": self.run_policy.to_wire(),
            "mpiReplicaSpecs": {"Launcher": self.launcher.to_wire()}
            | ({"Worker": self.worker.to_wire()} if self.worker else {}),
        }


def _parts(spec: MpiJobSpec) -> Problems:
    yield from instance_of("launcher", spec.launcher, ReplicaSpec)
    yield from _if_given(spec, "worker", lambda name, value: instance_of(name, value, ReplicaSpec))
    yield from instance_of("run_policy", spec.run_policy, RunPolicy)


def _replicas(spec: MpiJobSpec) -> Problems:
    if spec.worker:
        for problem in at_least("replicas", spec.worker.replicas, 1, *WORKERS):
            yield problem.under("worker")
    elif not spec.run_launcher_as_worker:
        fix = "give the workers, or set 'run_launcher_as_worker' to True"
        yield Problem(path=("worker",), given=None, allowed="a pod must hold the ranks", fix=fix)
    if list(at_least("replicas", spec.launcher.replicas, 1, 1)):
        allowed = "an MPIJob has exactly 1 launcher"
        yield Problem(path=("launcher", "replicas"), given=spec.launcher.replicas, allowed=allowed, fix="give 1")


def _values(spec: MpiJobSpec) -> Problems:
    yield from at_least("slots_per_worker", spec.slots_per_worker, 1, *SLOTS)
    policies = get_args(LauncherCreationPolicy)
    yield from one_of("launcher_creation_policy", spec.launcher_creation_policy, policies)
    yield from one_of("mpi_implementation", spec.mpi_implementation, get_args(MpiImplementation))
    yield from one_of("run_launcher_as_worker", spec.run_launcher_as_worker, (True, False))
    yield from matches("ssh_auth_mount_path", spec.ssh_auth_mount_path, r"/[^\0:\n]+", "an absolute path")
    yield from _if_given(spec, "namespace", dns_label)
    yield from labels("labels", spec.labels)
    yield from annotations("annotations", spec.annotations)


def _name(spec: MpiJobSpec) -> Problems:
    yield from job_name("name", spec.name, spec.workers)


def job_name(name: str, value: Any, workers: Any) -> Problems:
    """Apply the operator's rule on names to the longest name that it derives from a job's.

    Args:
        name: The argument, as the user typed it.
        value: What they gave.
        workers: The job's number of workers; another rule rejects what is not a number.
    """
    wrong = list(dns_1035_label(name, value))
    yield from wrong
    if wrong or not isinstance(workers, int):
        return
    suffix = f"-worker-{workers - 1}" if workers else "-launcher"
    yield from leaves_room(name, value, suffix, f"with {workers} workers the operator")


def _gang(spec: MpiJobSpec) -> Problems:
    """Reject a gang that counts the launcher and waits for it, while the launcher waits for the workers.

    https://github.com/kubeflow/mpi-operator/issues/608
    """
    policy = spec.run_policy.scheduling_policy
    if not policy or spec.launcher_creation_policy != "WaitForWorkersReady":
        return
    if policy.min_available is None or policy.min_available > spec.workers:
        yield Problem(
            path=("run_policy", "scheduling_policy", "min_available"),
            given=policy.min_available,
            allowed="the gang then waits for a launcher that is created after the workers",
            fix=f"give {spec.workers}, the number of workers, or fewer",
        )
