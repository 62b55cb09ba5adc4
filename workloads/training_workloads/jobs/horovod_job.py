"""A Horovod job: from the workers' instance type to a complete MPIJob."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from training_workloads.catalog import InstanceType, gpu_instance_type
from training_workloads.catalog.framework_images import (
    DEFAULT_FRAMEWORK,
    FRAMEWORKS,
    OTHER_FRAMEWORK,
    SupportedGpus,
    known_framework,
    shown_capability,
    supported_compute_capabilities,
)
from training_workloads.catalog.instances import supported_gpu_type
from training_workloads.jobs.gpu_pods import GpuPods
from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.pod_template import image, namespace, service_account
from training_workloads.jobs.rank_environment import hierarchical_all_reduce, rank_environment
from training_workloads.jobs.scheduling import Scheduling, is_scheduling
from training_workloads.jobs.volumes import SharedVolume, shared_volumes
from training_workloads.jobs.worker_resources import WorkerResources, gpus_that_fit, worker_resources
from training_workloads.mpijob.launch_command import START_TIMEOUT_SECONDS, mpirun_command
from training_workloads.mpijob.spec import DAY_SECONDS, MpiJobSpec
from training_workloads.validation import Problem, Problems, at_least, enforce, matches, one_of

__all__ = ["BASE_RULES", "HorovodJob", "HorovodJobSpec"]

_Binding = Literal["socket", "none"]

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


# Without slots, which would leave no room for what is derived once.
@dataclass(frozen=True, kw_only=True)
class HorovodJobSpec:
    """A Horovod job on GPU nodes, one rank per GPU. Everything else is derived from these values.

    Attributes:
        name: Name of the job.
        image: The training image, built from `training/Dockerfile`; another one needs its user, sshd and `training/`.
        command: What each rank runs, such as `("python", "-m", "training.digits", "--output-dir", "/fsx/runs/a")`.
        instance_type: EC2 type of the workers' nodes.
        workers: Worker pods.
        framework: What the image contains, which decides on the GPUs that it supports: `tensorflow-2.15`,
            `tensorflow-2.18`, or `other`, which is not checked. Default: for a public image what its address says, else
            that of `training/Dockerfile`.
        gpus_per_worker: GPUs, and so ranks, of each worker. Default: all of the instance type, one worker per node.
        efa: Whether workers take the EFA devices of their type, if it has them. False for a node group without EFA.
        bind_to: `socket`: each rank runs on one CPU socket; `none`: it may use all of its worker's cores. Default:
            `socket` for workers that have a whole node with several sockets.
        environment: Further variables of the ranks; they override the derived ones. Default: none.
        volumes: Shared file systems. Default: the claim of the cluster's Lustre file system, at /fsx.
        namespace: Default: that of kubectl.
        service_account: Service account of the pods, such as that of a `JobIdentity`. Default: the namespace's.
        scheduling: Where and when the pods start. Default: as soon as nodes have room for them.
        backoff_limit: How often the launcher restarts the ranks; each start resumes from the newest checkpoint. A
            lost pod of the launcher is replaced this often too, but at most twice: the third loss ends the job.
        start_timeout_seconds: Seconds in which every worker must answer, at the start and after workers were lost; then
            the job ends, and names those that are missing. Where not one answers, each of the launcher's pods waits:
            at most three times as long. Raise it where nodes may wait for capacity. Default: 1800.
        gate: Whether the launcher checks every worker before it starts the ranks: GPUs, EFA, memory, disks and clock.
        deadline_seconds: Seconds after which the job ends, so that one that hangs does not hold its GPUs for ever.
            Default: seven days.
    """

    name: str
    image: str
    command: tuple[str, ...]
    instance_type: str
    workers: int
    framework: str | None = None
    gpus_per_worker: int | None = None
    efa: bool = True
    bind_to: _Binding | None = None
    environment: dict[str, str] = field(default_factory=dict)
    volumes: tuple[SharedVolume, ...] = (SharedVolume(),)
    namespace: str | None = None
    service_account: str | None = None
    scheduling: Scheduling = field(default_factory=Scheduling)
    backoff_limit: int = 10
    start_timeout_seconds: int = START_TIMEOUT_SECONDS
    gate: bool = True
    deadline_seconds: int = 7 * DAY_SECONDS

    def __post_init__(self) -> None:
        """Check everything that can be known before the job runs, and derive the job."""
        enforce(self, BASE_RULES)
        # The MPIJob has rules too, such as the length of the pods' names.
        _ = self.mpi_job

    @cached_property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @cached_property
    def resources(self) -> WorkerResources:
        """The requests of each worker."""
        gpus = self.instance.gpus if self.gpus_per_worker is None else self.gpus_per_worker
        return worker_resources(self.instance, gpus, efa=self.efa)

    @property
    def world_size(self) -> int:
        """Ranks of the whole job."""
        return self.workers * self.resources.gpus

    @cached_property
    def ranks_per_socket(self) -> int | None:
        """Ranks that are bound to each socket of a worker; None where none is bound."""
        if self.bind_to == "none" or (self.bind_to is None and not _can_bind(self)):
            return None
        return self.resources.gpus // (self.instance.sockets or 1)

    @cached_property
    def mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs this job."""
        derived = rank_environment(self.resources, self.workers)
        derived |= hierarchical_all_reduce(self.instance, self.resources, self.workers)
        ranks = {**derived, **self.environment}
        mpirun = mpirun_command(self.world_size, ranks, self.command, ranks_per_socket=self.ranks_per_socket)
        return self._mpi_job(self.workers, mpirun, ranks)

    def _mpi_job(
        self, workers: int, command: list[str], ranks: dict[str, str], *, min_workers: int | None = None
    ) -> MpiJobSpec:
        """Return the MPIJob with a number of workers, a launch command and variables of the ranks."""
        pods = GpuPods(
            job=self.name,
            image=self.image,
            instance=self.instance,
            resources=self.resources,
            workers=workers,
            volumes=self.volumes,
            scheduling=self.scheduling,
            service_account=self.service_account,
        )
        return pods.mpi_job(
            namespace=self.namespace,
            command=command,
            environment=ranks,
            backoff_limit=self.backoff_limit,
            deadline_seconds=self.deadline_seconds,
            start_timeout_seconds=self.start_timeout_seconds,
            gate=self.gate,
            min_workers=min_workers,
        )


class HorovodJob(IsolatedMpiJob[HorovodJobSpec]):
    """A Horovod job in a chart, with its NetworkPolicy."""

    kind = HorovodJobSpec


def _can_bind(spec: HorovodJobSpec) -> bool:
    """Return whether a worker has all sockets of its node, and each socket the same number of its ranks."""
    sockets = spec.instance.sockets or 1
    return sockets > 1 and spec.resources.gpus == spec.instance.gpus and spec.instance.gpus % sockets == 0


def _type_and_gpus(spec: HorovodJobSpec) -> Problems:
    if wrong := list(supported_gpu_type(spec.instance_type)):
        yield from wrong
    elif spec.gpus_per_worker is not None:
        yield from gpus_that_fit(spec.instance, spec.gpus_per_worker, efa=spec.efa)


def _gpu_of_the_framework(spec: HorovodJobSpec) -> Problems:
    if wrong := list(known_framework("framework", spec.framework)):
        yield from wrong
    # Another rule reports a wrong type.
    elif not list(supported_gpu_type(spec.instance_type)):
        gpu, supported = spec.instance.gpu, _supported_gpus(spec)
        if gpu and supported and not supported.includes(gpu):
            allowed = (
                f"its {gpu.model} has compute capability {shown_capability(gpu.compute_capability)}, and {supported}"
            )
            fix = "choose a type with another GPU, or for an image that supports this one give the framework 'other'"
            path, related = ("instance_type",), (("framework",),)
            yield Problem(path=path, given=spec.instance_type, allowed=allowed, fix=fix, related=related)


def _supported_gpus(spec: HorovodJobSpec) -> SupportedGpus | None:
    if spec.framework == OTHER_FRAMEWORK:
        return None
    # Another rule reports an image that is no text.
    public = supported_compute_capabilities(str(spec.image)) if spec.framework is None else None
    return public or FRAMEWORKS[spec.framework or DEFAULT_FRAMEWORK]


def _command(spec: HorovodJobSpec) -> Problems:
    command: Any = spec.command
    if isinstance(command, str):
        yield Problem(path=("command",), given=command, fix=f"give a tuple of words: {tuple(command.split())}")
    elif (
        not isinstance(command, list | tuple)
        or not command
        or not all(isinstance(word, str) and word and "\0" not in word for word in command)
    ):
        fix = "give the program that each rank runs, as a tuple of words"
        yield Problem(path=("command",), given=command, fix=fix)


def _environment(spec: HorovodJobSpec) -> Problems:
    environment: Any = spec.environment
    if not isinstance(environment, dict):
        yield Problem(path=("environment",), given=environment, fix="give a dictionary of names and values")
        return
    for name, value in environment.items():
        yield from matches("environment", name, _VARIABLE, "names of letters, digits and '_'")
        rule = "a string without NUL characters" if isinstance(value, str) else "a text, in quotes"
        for problem in matches(str(name), value, r"[^\0]*", rule):
            yield problem.under("environment")


def _binding(spec: HorovodJobSpec) -> Problems:
    if spec.bind_to is not None:
        yield from one_of("bind_to", spec.bind_to, get_args(_Binding))
    # Another rule reports a wrong type or number of GPUs.
    if spec.bind_to == "socket" and not list(_type_and_gpus(spec)) and not _can_bind(spec):
        allowed = (
            f"a worker with {spec.resources.gpus} of the {spec.instance.gpus} GPUs of {spec.instance.name} does not "
            "have an equal number of ranks for each of several sockets"
        )
        yield Problem(path=("bind_to",), given=spec.bind_to, allowed=allowed, fix="omit it")


#: Every rule that is not the MPIJob's.
BASE_RULES: tuple[Callable[[HorovodJobSpec], Problems], ...] = (
    _command,
    image,
    _type_and_gpus,
    _gpu_of_the_framework,
    lambda spec: at_least("workers", spec.workers, 1),
    lambda spec: one_of("efa", spec.efa, (True, False)),
    _binding,
    lambda spec: at_least("backoff_limit", spec.backoff_limit, 0),
    lambda spec: at_least("deadline_seconds", spec.deadline_seconds, 1, 2**53 - 1),
    lambda spec: at_least("start_timeout_seconds", spec.start_timeout_seconds, 1),
    lambda spec: one_of("gate", spec.gate, (True, False)),
    namespace,
    service_account,
    _environment,
    lambda spec: shared_volumes("volumes", spec.volumes),
    is_scheduling,
)
