"""A Horovod job: from the workers' instance type to a complete MPIJob."""

from dataclasses import dataclass, field
from typing import Any

from constructs import Construct

from training_workloads.catalog import InstanceType, gpu_instance_type
from training_workloads.errors import InputError, check_at_least
from training_workloads.launcher import launcher_environment, mpirun_command, rank_environment
from training_workloads.mpi_job import MpiJob, MpiJobSpec, ReplicaSpec, RunPolicy
from training_workloads.scheduling import INSTANCE_TYPE_LABEL, gpu_toleration
from training_workloads.volumes import SharedVolume
from training_workloads.worker_resources import WorkerResources, worker_resources

__all__ = ["HorovodJob", "HorovodJobSpec"]

# The user of the training image (training/Dockerfile), and where its sshd is configured.
_UID = 1000
_HOME = "/home/mpiuser"
_SSH_PORT = 2222

# The launcher only runs mpirun and its ssh connections.
_LAUNCHER_RESOURCES = {"requests": {"cpu": 1, "memory": "2Gi"}, "limits": {"memory": "2Gi"}}

_DAY_SECONDS = 24 * 60 * 60


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
    environment: dict[str, str] = field(default_factory=dict)
    volumes: tuple[SharedVolume, ...] = (SharedVolume(),)
    namespace: str | None = None
    backoff_limit: int = 10

    def __post_init__(self) -> None:
        """Checks everything that can be known before the job runs."""
        if not self.command:
            raise InputError("'command' is empty; give the program that each rank runs")
        check_at_least("workers", self.workers, 1)
        check_at_least("backoff_limit", self.backoff_limit, 0)
        self.to_mpi_job()

    @property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @property
    def resources(self) -> WorkerResources:
        """What each worker asks of its node."""
        gpus = self.instance.gpus if self.gpus_per_worker is None else self.gpus_per_worker
        return worker_resources(self.instance, gpus)

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
            ssh_auth_mount_path=f"{_HOME}/.ssh",
            run_policy=RunPolicy(backoff_limit=self.backoff_limit, ttl_seconds_after_finished=7 * _DAY_SECONDS),
            launcher=ReplicaSpec(template=_pod(self._launcher()), restart_policy="OnFailure"),
            worker=ReplicaSpec(
                template=_pod(
                    self._worker(),
                    nodeSelector={INSTANCE_TYPE_LABEL: self.instance.name},
                    tolerations=[gpu_toleration()],
                    volumes=[_shm_volume(self.resources), *(volume.to_wire() for volume in self.volumes)],
                ),
                replicas=self.workers,
            ),
        )

    def _launcher(self) -> dict[str, Any]:
        ranks = {**rank_environment(self.instance, self.resources, self.workers), **self.environment}
        return {
            "name": "launcher",
            "image": self.image,
            "command": mpirun_command(self.world_size, ranks, self.command),
            "env": [{"name": name, "value": value} for name, value in launcher_environment(ranks).items()],
            "resources": _LAUNCHER_RESOURCES,
            "securityContext": _unprivileged(),
        }

    def _worker(self) -> dict[str, Any]:
        # EFA registers memory for direct access by the device, which needs to be locked.
        added = ["IPC_LOCK"] if self.resources.efa_interfaces else []
        return {
            "name": "worker",
            "image": self.image,
            "command": ["/usr/sbin/sshd", "-De", "-f", f"{_HOME}/.sshd_config"],
            "ports": [{"name": "ssh", "containerPort": _SSH_PORT}],
            # The launcher is created when the workers are ready, and ready means that ssh answers.
            "readinessProbe": {"tcpSocket": {"port": _SSH_PORT}, "periodSeconds": 2},
            "resources": self.resources.to_wire(),
            "securityContext": _unprivileged(added),
            "volumeMounts": [_SHM_MOUNT, *(volume.to_mount() for volume in self.volumes)],
        }


class HorovodJob(Construct):
    """A Horovod job in a chart.

    Attributes:
        spec: What it was made from.
        mpi_job: The MPIJob.
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


_SHM_MOUNT = {"name": "shm", "mountPath": "/dev/shm"}


def _shm_volume(resources: WorkerResources) -> dict[str, Any]:
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{resources.shm_gib}Gi"}}


def _unprivileged(added_capabilities: list[str] | None = None) -> dict[str, Any]:
    capabilities = {"drop": ["ALL"]} | ({"add": added_capabilities} if added_capabilities else {})
    return {"allowPrivilegeEscalation": False, "capabilities": capabilities}


def _pod(container: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A pod template with one container, for the image's non-root user."""
    security = {"runAsNonRoot": True, "runAsUser": _UID, "runAsGroup": _UID, "fsGroup": _UID}
    spec = {"containers": [container], "securityContext": security, "automountServiceAccountToken": False}
    return {"spec": spec | fields}
