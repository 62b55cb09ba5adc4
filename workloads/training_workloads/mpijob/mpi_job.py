"""The MPIJob resource of the MPI operator (kubeflow.org/v2beta1), typed field by field.

The operator enforces some rules only after the API server accepted a job: it emits a ValidationError event and stops.
The same rules, those of the operator's release in the catalog, run here at construction.
https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

from typing import Annotated, Any

from pydantic import AliasGenerator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from training_workloads.manifests.values import AMOUNT
from training_workloads.mpijob.api import (
    CleanPodPolicy,
    Controller,
    LauncherCreationPolicy,
    MpiImplementation,
    RestartPolicy,
    job_name,
)
from training_workloads.mpijob.bounds import DEADLINE_SECONDS, LAUNCHERS, SLOTS, WORKERS
from training_workloads.mpijob.pod_schema import template_problems
from training_workloads.names import LABEL_KEY, annotations, dns_1035_label, dns_label, dns_subdomain, labels
from training_workloads.spec import Checked, Spec
from training_workloads.validation import MISSING, Path, Problem, Problems, at_least, instance_of, matches

__all__ = ["MpiJobSpec", "ReplicaSpec", "RunPolicy", "SchedulingPolicy"]

_Count = Annotated[int, Checked(at_least, 0)]
_Name = Annotated[str, Checked(dns_subdomain)]
_Resource = Annotated[str, Checked(matches, LABEL_KEY, "the name of a resource, such as nvidia.com/gpu")]
_Amount = Annotated[str, Checked(matches, AMOUNT, "an amount as Kubernetes writes it, such as '512Mi'")]


class _Policy(Spec):
    model_config = ConfigDict(alias_generator=AliasGenerator(serialization_alias=to_camel))

    def to_wire(self) -> dict[str, Any]:
        """Return the policy in the Kubernetes wire format."""
        return self.model_dump(by_alias=True, exclude_none=True)


class SchedulingPolicy(_Policy):
    """How a gang scheduler treats the job's pods; without gang scheduling the operator ignores it.

    Attributes:
        min_available: Pods that must fit before any starts; the operator's default is workers + 1.
        queue: Volcano queue.
        min_resources: Resources that the gang needs, by resource name; the operator's default is the pods' sum.
        priority_class: Name of a PriorityClass.
        schedule_timeout_seconds: How long the scheduler-plugins' gang waits; default 0.
    """

    min_available: _Count | None = None
    queue: _Name | None = None
    min_resources: dict[_Resource, _Amount] | None = None
    priority_class: _Name | None = None
    schedule_timeout_seconds: _Count | None = None


class RunPolicy(_Policy):
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
    ttl_seconds_after_finished: _Count | None = None
    active_deadline_seconds: Annotated[int, Checked(at_least, 0, *DEADLINE_SECONDS)] | None = None
    backoff_limit: Annotated[int, Checked(at_least, 0, *LAUNCHERS)] | None = None
    suspend: bool | None = None
    managed_by: Controller | None = None
    scheduling_policy: Annotated[SchedulingPolicy, Checked(instance_of, SchedulingPolicy)] | None = None


def _template(name: str, template: Any) -> Problems:
    """Reject a template without containers, and values that the operator cannot decode or no process can get."""
    pod = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(pod, dict):
        fix = "give a PodTemplateSpec as a dictionary: {'spec': {…}}"
        yield Problem(path=(name,), given=template, fix=fix)
    elif not pod.get("containers"):
        given = pod.get("containers", MISSING)
        yield Problem(path=(name, "spec", "containers"), given=given, fix="give at least one container")
    else:
        yield from template_problems(template, (name,))
        yield from _nul_characters(template, (name,))


def _nul_characters(value: Any, path: Path) -> Problems:
    """Reject texts with NUL, at which the variables and arguments of a process end."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _nul_characters(inner, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _nul_characters(inner, (*path, number))
    elif isinstance(value, str) and "\0" in value:
        yield Problem(path=path, given=value, fix="give a text without NUL characters")


class ReplicaSpec(Spec):
    """The pods of one role.

    Attributes:
        template: A PodTemplateSpec in the Kubernetes wire format, plain scalars only. Only its first container gets
            the operator's mounts and variables, and its own `restartPolicy` is overridden by the one below.
        replicas: How many pods; the launcher has exactly 1. Default: 1.
        restart_policy: `Never` (default) or `OnFailure`; the operator rejects every other.
    """

    template: Annotated[dict[str, Any], Checked(_template)]
    replicas: Annotated[int, Checked(at_least, 1, *WORKERS)] = 1
    restart_policy: RestartPolicy = "Never"

    def to_wire(self) -> dict[str, Any]:
        """Return the replica spec in the Kubernetes wire format."""
        return {"replicas": self.replicas, "restartPolicy": self.restart_policy, "template": self.template}


_Pods = Annotated[ReplicaSpec, Checked(instance_of, ReplicaSpec)]
_Labels = Annotated[dict[str, str], Checked(labels)]
_Annotations = Annotated[dict[str, str], Checked(annotations)]


class MpiJobSpec(Spec):
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

    name: Annotated[str, Checked(dns_1035_label)]
    launcher: _Pods
    worker: _Pods | None
    slots_per_worker: Annotated[int, Checked(at_least, 1, *SLOTS)]
    namespace: Annotated[str, Checked(dns_label)] | None = None
    labels: _Labels = Field(default_factory=dict)
    annotations: _Annotations = Field(default_factory=dict)
    run_policy: Annotated[RunPolicy, Checked(instance_of, RunPolicy)] = RunPolicy()
    ssh_auth_mount_path: Annotated[str, Checked(matches, r"/[^\0:\n]+", "an absolute path")] = "/root/.ssh"
    launcher_creation_policy: LauncherCreationPolicy = "WaitForWorkersReady"
    mpi_implementation: MpiImplementation = "OpenMPI"
    run_launcher_as_worker: bool = False

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


@MpiJobSpec.rule
def _name(spec: MpiJobSpec) -> Problems:
    yield from job_name("name", spec.name, spec.workers)


@MpiJobSpec.rule
def _replicas(spec: MpiJobSpec) -> Problems:
    if not spec.worker and not spec.run_launcher_as_worker:
        fix = "give the workers, or set 'run_launcher_as_worker' to True"
        yield Problem(path=("worker",), given=None, allowed="a pod must hold the ranks", fix=fix)
    if spec.launcher.replicas != 1:
        allowed = "an MPIJob has exactly 1 launcher"
        yield Problem(path=("launcher", "replicas"), given=spec.launcher.replicas, allowed=allowed, fix="give 1")


@MpiJobSpec.rule
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
