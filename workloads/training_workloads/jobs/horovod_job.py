"""A Horovod job: from the workers' instance type to a complete MPIJob."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from constructs import Construct

from training_workloads.catalog import InstanceType, gpu_instance_type
from training_workloads.jobs.gpu_pods import GpuPods
from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.rank_environment import hierarchical_all_reduce, rank_environment
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.spec_rules import (
    check_image,
    check_namespace,
    check_scheduling,
    check_service_account,
    check_volumes,
)
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.jobs.worker_resources import WorkerResources, worker_resources
from training_workloads.mpijob.launch_command import WAIT_FOR_WORKERS, mpirun_command
from training_workloads.mpijob.spec import DAY_SECONDS, MpiJobSpec
from training_workloads.validation import InputError, check_at_least, check_one_of, check_text, enforce

__all__ = ["BASE_RULES", "HorovodJob", "HorovodJobSpec"]

_Binding = Literal["socket", "none"]

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


@dataclass(frozen=True, kw_only=True, slots=True)
class HorovodJobSpec:
    """A Horovod job on GPU nodes, one rank per GPU. Everything else is derived from these values.

    Attributes:
        name: Name of the job.
        image: The training image, made from `training/Dockerfile`; another has its user, its sshd and its `training/`.
        command: What each rank runs, such as `("python", "-m", "training.digits", "--output-dir", "/fsx/runs/a")`.
        instance_type: EC2 type of the workers' nodes.
        workers: Worker pods.
        gpus_per_worker: GPUs, and so ranks, of each worker. Default: all of the instance type, one worker per node.
        efa: Whether workers take the EFA devices of their type, if it has them. False for a node group without EFA.
        bind_to: `socket`: each rank keeps to one CPU socket; `none`: it may use all of its worker's cores. Default:
            `socket` for workers that have a whole node with several sockets.
        environment: Further variables of the ranks; they win over the derived ones. Default: none.
        volumes: Shared file systems. Default: the claim that the cluster's Lustre file system has, at /fsx.
        namespace: Default: that of kubectl.
        service_account: Under which the pods run, such as that of a `JobIdentity`. Default: the namespace's own.
        scheduling: Where and when the pods start. Default: as soon as nodes have room for them.
        backoff_limit: How often the launcher is started again; each start goes on from the newest checkpoint.
        deadline_seconds: Seconds after which the job is ended, so that one that hangs does not hold its GPUs for ever.
            Default: seven days.
    """

    name: str
    image: str
    command: tuple[str, ...]
    instance_type: str
    workers: int
    gpus_per_worker: int | None = None
    efa: bool = True
    bind_to: _Binding | None = None
    environment: dict[str, str] = field(default_factory=dict)
    volumes: tuple[SharedVolume, ...] = (SharedVolume(),)
    namespace: str | None = None
    service_account: str | None = None
    scheduling: Scheduling = field(default_factory=Scheduling)
    backoff_limit: int = 10
    deadline_seconds: int = 7 * DAY_SECONDS

    def __post_init__(self) -> None:
        """Checks everything that can be known before the job runs."""
        enforce(self, BASE_RULES)
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

    @property
    def pods(self) -> GpuPods:
        """Launcher and workers."""
        return GpuPods(
            job=self.name,
            image=self.image,
            instance=self.instance,
            resources=self.resources,
            workers=self.workers,
            volumes=self.volumes,
            scheduling=self.scheduling,
            service_account=self.service_account,
        )

    def ranks_per_socket(self) -> int | None:
        """Ranks that are bound to each socket of a worker; None where none is bound."""
        if self.bind_to == "none" or (self.bind_to is None and not _can_bind(self)):
            return None
        return self.resources.gpus // (self.instance.sockets or 1)

    def to_mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs this job.

        Raises:
            InputError: A value is not allowed, or does not go with the instance type.
        """
        derived = rank_environment(self.resources, self.workers)
        derived |= hierarchical_all_reduce(self.instance, self.resources, self.workers)
        ranks = {**derived, **self.environment}
        mpirun = mpirun_command(self.world_size, ranks, self.command, ranks_per_socket=self.ranks_per_socket())
        return self.pods.mpi_job(
            namespace=self.namespace,
            command=[*WAIT_FOR_WORKERS, *mpirun],
            environment=ranks,
            backoff_limit=self.backoff_limit,
            deadline_seconds=self.deadline_seconds,
        )


class HorovodJob(IsolatedMpiJob):
    """A Horovod job in a chart.

    Attributes:
        spec: What it was made from.
        mpi_job: The MPIJob.
        network_policy: What keeps other pods from the job's.
    """

    kind = HorovodJobSpec

    def __init__(self, scope: Construct, id: str, *, spec: HorovodJobSpec) -> None:
        """Defines the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        super().__init__(scope, id, spec=spec)
        self.spec = spec


def _can_bind(spec: HorovodJobSpec) -> bool:
    """Whether a worker has all sockets of its node, and each socket the same number of its ranks."""
    sockets = spec.instance.sockets or 1
    return sockets > 1 and spec.resources.gpus == spec.instance.gpus and spec.instance.gpus % sockets == 0


def _check_command(spec: HorovodJobSpec) -> None:
    command: Any = spec.command
    if isinstance(command, str):
        raise InputError(f"'command' is the string {command!r}; give a tuple of words: {tuple(command.split())}")
    if (
        not isinstance(command, list | tuple)
        or not command
        or not all(isinstance(word, str) and word for word in command)
    ):
        raise InputError(f"'command' is {command!r}; give the program that each rank runs, as a tuple of words")


def _check_environment(spec: HorovodJobSpec) -> None:
    environment: Any = spec.environment
    if not isinstance(environment, dict):
        raise InputError(f"'environment' is {environment!r}; give a dictionary of names and values")
    for name, value in environment.items():
        check_text("environment", name, _VARIABLE, "names of letters, digits and '_'")
        check_text(f"environment[{name!r}]", value, r"(?s).*", "a string")


def _check_binding(spec: HorovodJobSpec) -> None:
    if spec.bind_to is not None:
        check_one_of("bind_to", spec.bind_to, get_args(_Binding))
    if spec.bind_to == "socket" and not _can_bind(spec):
        raise InputError(
            f"'bind_to' is 'socket', but a worker with {spec.resources.gpus} of the {spec.instance.gpus} GPUs of "
            f"{spec.instance.name} has no equal number of ranks for each of several sockets; leave it out"
        )


#: Every rule that is not the MPIJob's own.
BASE_RULES: tuple[Callable[[HorovodJobSpec], object], ...] = (
    _check_command,
    check_image,
    lambda spec: spec.instance,
    lambda spec: check_at_least("workers", spec.workers, 1),
    lambda spec: check_one_of("efa", spec.efa, (True, False)),
    lambda spec: spec.resources,
    _check_binding,
    lambda spec: check_at_least("backoff_limit", spec.backoff_limit, 0),
    lambda spec: check_at_least("deadline_seconds", spec.deadline_seconds, 1, 2**63 - 1),
    check_namespace,
    check_service_account,
    _check_environment,
    lambda spec: check_volumes(spec.volumes),
    check_scheduling,
)
