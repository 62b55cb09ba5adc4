"""The MPIJob resource of the MPI operator (kubeflow.org/v2beta1), typed field by field.

Rules that the operator enforces only after the job was accepted (it emits a ValidationError event and stops) are
checked here at construction; they are those of the operator's release that the catalog names.
https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

import reprlib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from training_workloads.jobs.run_policy import RunPolicy
from training_workloads.names import DNS_LABEL_LENGTH, check_dns_1035_label, check_dns_label
from training_workloads.validation import InputError, check_at_least, check_one_of, check_text

__all__ = [
    "API_VERSION",
    "KIND",
    "LauncherCreationPolicy",
    "MpiImplementation",
    "MpiJobSpec",
    "ReplicaSpec",
    "RestartPolicy",
]

API_VERSION = "kubeflow.org/v2beta1"
KIND = "MPIJob"

RestartPolicy = Literal["Never", "OnFailure"]
LauncherCreationPolicy = Literal["AtStartup", "WaitForWorkersReady"]
MpiImplementation = Literal["OpenMPI", "Intel", "MPICH"]


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
        template: Any = self.template
        pod = template.get("spec") if isinstance(template, dict) else None
        if not isinstance(pod, dict):
            raise InputError(
                f"'template' is {_short(template)}; give a PodTemplateSpec as a dictionary: {{'spec': {{…}}}}"
            )
        if not pod.get("containers"):
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
        worker: The workers' pods, at least 1. None: the launcher holds all ranks, with `run_launcher_as_worker`.
        slots_per_worker: Ranks that a worker can hold; written into the hostfile.
        namespace: Default: the chart's own, else that of kubectl.
        labels: Labels of the MPIJob itself, such as Kueue's queue. Default: none.
        run_policy: When the job ends and what is removed then.
        ssh_auth_mount_path: Where the operator mounts the job's ssh keys.
        launcher_creation_policy: `WaitForWorkersReady` starts the launcher when every worker's readiness probe
            passes; it has no meaning without such a probe.
        mpi_implementation: Which hostfile syntax and variables the operator writes.
        run_launcher_as_worker: Whether the launcher's pod holds ranks too.
    """

    name: str
    launcher: ReplicaSpec
    worker: ReplicaSpec | None
    slots_per_worker: int
    namespace: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    run_policy: RunPolicy = field(default_factory=RunPolicy)
    ssh_auth_mount_path: str = "/root/.ssh"
    launcher_creation_policy: LauncherCreationPolicy = "WaitForWorkersReady"
    mpi_implementation: MpiImplementation = "OpenMPI"
    run_launcher_as_worker: bool = False

    def __post_init__(self) -> None:
        """Checks what the operator would refuse after the job was accepted."""
        _check_types(self)
        self._check_worker()
        check_at_least("slots_per_worker", self.slots_per_worker, 1)
        if self.launcher.replicas != 1:
            raise InputError(f"'launcher.replicas' is {self.launcher.replicas}; an MPIJob has exactly 1 launcher")
        check_one_of("launcher_creation_policy", self.launcher_creation_policy, get_args(LauncherCreationPolicy))
        check_one_of("mpi_implementation", self.mpi_implementation, get_args(MpiImplementation))
        check_one_of("run_launcher_as_worker", self.run_launcher_as_worker, (True, False))
        check_text("ssh_auth_mount_path", self.ssh_auth_mount_path, "/.+", "an absolute path")
        _check_name(self.name, self.workers)
        if self.namespace is not None:
            check_dns_label("namespace", self.namespace)
        self._check_gang()

    @property
    def workers(self) -> int:
        """Worker pods."""
        return self.worker.replicas if self.worker else 0

    @property
    def world_size(self) -> int:
        """Ranks that the hostfile has slots for."""
        return (self.workers + self.run_launcher_as_worker) * self.slots_per_worker

    def _check_worker(self) -> None:
        if self.worker:
            check_at_least("worker.replicas", self.worker.replicas, 1)
        elif not self.run_launcher_as_worker:
            raise InputError(
                "'worker' is None, so no pod holds a rank; give the workers, or set 'run_launcher_as_worker' to True"
            )

    def _check_gang(self) -> None:
        """A gang that counts the launcher waits for it, while the launcher waits for the workers.

        https://github.com/kubeflow/mpi-operator/issues/608
        """
        policy = self.run_policy.scheduling_policy
        if policy and self.launcher_creation_policy == "WaitForWorkersReady":
            if policy.min_available is None or policy.min_available > self.workers:
                raise InputError(
                    f"'scheduling_policy.min_available' is {policy.min_available}, so the gang waits for a launcher "
                    f"that is created after the workers; set it to {self.workers}, the number of workers, or fewer"
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
            "mpiReplicaSpecs": {"Launcher": self.launcher.to_wire()}
            | ({"Worker": self.worker.to_wire()} if self.worker else {}),
        }


def _check_types(spec: MpiJobSpec) -> None:
    parts: tuple[tuple[str, Any, type], ...] = (
        ("launcher", spec.launcher, ReplicaSpec),
        ("worker", spec.worker, ReplicaSpec),
        ("run_policy", spec.run_policy, RunPolicy),
    )
    for argument, value, kind in parts:
        if not isinstance(value, kind) and (argument, value) != ("worker", None):
            raise InputError(f"{argument!r} is {_short(value)}; give a {kind.__name__}")


def _short(value: Any) -> str:
    # A template may be pages long, or contain itself.
    return reprlib.repr(value)


def _check_name(name: str, workers: int) -> None:
    """The operator's rule on names, for the longest name that it makes from this one."""
    check_dns_1035_label("name", name)
    suffix = f"-worker-{workers - 1}" if workers else "-launcher"
    limit = DNS_LABEL_LENGTH - len(suffix)
    if len(name) > limit:
        raise InputError(
            f"'name' is {name!r} with {len(name)} characters, but with {workers} workers the operator makes pods named "
            f"'<name>{suffix}' of at most {DNS_LABEL_LENGTH}; use a name of {limit} characters or fewer"
        )
