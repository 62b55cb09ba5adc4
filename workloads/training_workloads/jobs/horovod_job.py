"""A Horovod job: from the workers' instance type to a complete MPIJob."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from constructs import Construct

from training_workloads.catalog import InstanceType, gpu_instance_type
from training_workloads.errors import InputError, check_at_least, check_text, enforce
from training_workloads.jobs.image import HOME, SSH_PORT, SSHD_CONFIG, UID
from training_workloads.jobs.launcher import launcher_environment, mpirun_command, rank_environment
from training_workloads.jobs.mpi_job import MpiJob, MpiJobSpec, ReplicaSpec, RunPolicy
from training_workloads.jobs.network_policy import JobNetworkPolicy
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.jobs.worker_resources import WorkerResources, worker_resources
from training_workloads.names import check_dns_label
from training_workloads.node_labels import INSTANCE_TYPE_LABEL, SAFE_TO_EVICT, gpu_toleration

__all__ = ["HorovodJob", "HorovodJobSpec"]

# The launcher only runs mpirun and its ssh connections.
_LAUNCHER_RESOURCES = {"requests": {"cpu": 1, "memory": "2Gi"}, "limits": {"memory": "2Gi"}}

_DAY_SECONDS = 24 * 60 * 60

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


@dataclass(frozen=True, kw_only=True, slots=True)
class HorovodJobSpec:
    """A Horovod job on GPU nodes, one rank per GPU. Everything else is derived from these values.

    Attributes:
        name: Name of the job.
        image: The training image, made from `training/Dockerfile` or with the same user and sshd.
        command: What each rank runs, such as `("python", "-m", "training.digits", "--output-dir", "/fsx/runs/a")`.
        instance_type: EC2 type of the workers' nodes.
        workers: Worker pods.
        gpus_per_worker: GPUs, and so ranks, of each worker. Default: all of the instance type, one worker per node.
        efa: Whether workers take the EFA devices of their type, if it has them. False for a node group without EFA.
        environment: Further variables of the ranks; they win over the derived ones. Default: none.
        volumes: Shared file systems. Default: the claim that the cluster's Lustre file system has, at /fsx.
        namespace: Default: that of kubectl.
        backoff_limit: How often the launcher is started again; each start goes on from the newest checkpoint.
    """

    name: str
    image: str
    command: tuple[str, ...]
    instance_type: str
    workers: int
    gpus_per_worker: int | None = None
    efa: bool = True
    environment: dict[str, str] = field(default_factory=dict)
    volumes: tuple[SharedVolume, ...] = (SharedVolume(),)
    namespace: str | None = None
    backoff_limit: int = 10

    def __post_init__(self) -> None:
        """Checks everything that can be known before the job runs."""
        enforce(self, _RULES)
        # What is left are the rules of the MPIJob itself, such as the length of the pods' names.
        self.to_mpi_job()

    @property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @property
    def resources(self) -> WorkerResources:
        """What each worker asks of its node."""
        gpus = self.instance.gpus if self.gpus_per_worker is None else self.gpus_per_worker
        return worker_resources(self.instance, gpus, efa=self.efa)

    @property
    def world_size(self) -> int:
        """Ranks of the whole job."""
        return self.workers * self.resources.gpus

    def to_mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs this job.

        Raises:
            InputError: A value is not allowed, or does not go with the instance type.
        """
        return MpiJobSpec(
            name=self.name,
            namespace=self.namespace,
            slots_per_worker=self.resources.gpus,
            ssh_auth_mount_path=f"{HOME}/.ssh",
            run_policy=RunPolicy(backoff_limit=self.backoff_limit, ttl_seconds_after_finished=7 * _DAY_SECONDS),
            # Each start of the launcher is a pod of its own, whose log stays.
            launcher=ReplicaSpec(template=_pod(self._launcher()), restart_policy="Never"),
            worker=ReplicaSpec(
                template=_pod(
                    self._worker(),
                    nodeSelector={INSTANCE_TYPE_LABEL: self.instance.name},
                    tolerations=[gpu_toleration()],
                    volumes=[_shm_volume(self.resources), *(volume.to_wire(name) for name, volume in self._volumes())],
                ),
                replicas=self.workers,
                # The operator replaces a missing worker, not a failed one: its sshd is started again in place.
                restart_policy="OnFailure",
            ),
        )

    def _launcher(self) -> dict[str, Any]:
        ranks = {**rank_environment(self.resources, self.workers), **self.environment}
        return {
            "name": "launcher",
            "image": self.image,
            "command": mpirun_command(self.world_size, ranks, self.command),
            "env": [{"name": name, "value": value} for name, value in launcher_environment(ranks).items()],
            "resources": _LAUNCHER_RESOURCES,
            "securityContext": _UNPRIVILEGED,
        }

    def _worker(self) -> dict[str, Any]:
        return {
            "name": "worker",
            "image": self.image,
            "command": ["/usr/sbin/sshd", "-De", "-f", SSHD_CONFIG],
            "ports": [{"name": "ssh", "containerPort": SSH_PORT}],
            # The launcher is created when the workers are ready, and ready means that ssh answers.
            "readinessProbe": {"tcpSocket": {"port": SSH_PORT}, "periodSeconds": 2},
            "resources": self.resources.to_wire(),
            "securityContext": _UNPRIVILEGED,
            "volumeMounts": [_SHM_MOUNT, *(volume.to_mount(name) for name, volume in self._volumes())],
        }

    def _volumes(self) -> list[tuple[str, SharedVolume]]:
        """The shared volumes with their names in the pod; a claim's name may be no volume's name."""
        return [(f"shared-{number}", volume) for number, volume in enumerate(self.volumes)]


class HorovodJob(Construct):
    """A Horovod job in a chart.

    Attributes:
        spec: What it was made from.
        mpi_job: The MPIJob.
        network_policy: What keeps other pods from the job's.
    """

    def __init__(self, scope: Construct, id: str, *, spec: HorovodJobSpec) -> None:
        """Defines the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        super().__init__(scope, id)
        self.spec = spec
        self.mpi_job = MpiJob(self, "Resource", spec=spec.to_mpi_job())
        self.network_policy = JobNetworkPolicy(self, "NetworkPolicy", job_name=spec.name, namespace=spec.namespace)


_SHM_MOUNT = {"name": "shm", "mountPath": "/dev/shm"}
_UNPRIVILEGED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def _shm_volume(resources: WorkerResources) -> dict[str, Any]:
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{resources.shm_gib}Gi"}}


def _check_command(command: Any) -> None:
    if isinstance(command, str):
        raise InputError(f"'command' is the string {command!r}; give a tuple of words: {tuple(command.split())}")
    if not command or not all(isinstance(word, str) and word for word in command):
        raise InputError(f"'command' is {command!r}; give the program that each rank runs, as a tuple of words")


def _check_environment(environment: Any) -> None:
    if not isinstance(environment, dict):
        raise InputError(f"'environment' is {environment!r}; give a dictionary of names and values")
    for name, value in environment.items():
        check_text("environment", name, _VARIABLE, "names of letters, digits and '_'")
        check_text(f"environment[{name!r}]", value, r"(?s).*", "a string")


def _check_volumes(volumes: Any) -> None:
    if isinstance(volumes, SharedVolume) or not all(isinstance(volume, SharedVolume) for volume in volumes):
        raise InputError(f"'volumes' is {volumes!r}; give a tuple of SharedVolume")
    paths = [volume.mount_path for volume in volumes]
    if len(set(paths)) < len(paths):
        raise InputError(f"'volumes' has the mount paths {', '.join(paths)}; give each volume a path of its own")


def _check_namespace(namespace: Any) -> None:
    if namespace is not None:
        check_dns_label("namespace", namespace)


_RULES: tuple[Callable[[HorovodJobSpec], object], ...] = (
    lambda spec: _check_command(spec.command),
    lambda spec: check_text("image", spec.image, r"\S+", "the image's address, such as <repository>:<tag>"),
    lambda spec: spec.instance,
    lambda spec: check_at_least("workers", spec.workers, 1),
    lambda spec: spec.resources,
    lambda spec: check_at_least("backoff_limit", spec.backoff_limit, 0),
    lambda spec: _check_namespace(spec.namespace),
    lambda spec: _check_environment(spec.environment),
    lambda spec: _check_volumes(spec.volumes),
)


def _pod(container: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A pod template with one container, for the image's non-root user."""
    security = {"runAsNonRoot": True, "runAsUser": UID, "runAsGroup": UID, "fsGroup": UID}
    spec = {"containers": [container], "securityContext": security, "automountServiceAccountToken": False}
    # A training pod cannot move to another node: the autoscaler waits for its end, or the job would begin again.
    return {"metadata": {"annotations": {SAFE_TO_EVICT: "false"}}, "spec": spec | fields}
