"""A Horovod job: from the workers' instance type to a complete MPIJob."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

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
from training_workloads.jobs.gpu_job import GPU_JOB_RULES, GpuJobSpec, type_and_gpus
from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.mpi_pods import mpi_job
from training_workloads.jobs.rank_environment import hierarchical_all_reduce, rank_environment
from training_workloads.mpijob.bounds import WORKERS
from training_workloads.mpijob.launch_command import mpirun_command
from training_workloads.mpijob.spec import MpiJobSpec
from training_workloads.validation import Problem, Problems, at_least, enforce, one_of

__all__ = ["BASE_RULES", "HorovodJob", "HorovodJobSpec"]

_Binding = Literal["socket", "none"]


@dataclass(frozen=True, kw_only=True)
class HorovodJobSpec(GpuJobSpec):
    """A Horovod job on GPU nodes, one rank per GPU. Everything else is derived from these values.

    Its image is built from `training/Dockerfile`; another one needs its user, sshd and `training/`. Where not one
    worker answers within `start_timeout_seconds`, each of the launcher's pods waits: at most three times as long.

    Attributes:
        framework: What the image contains, which decides on the GPUs that it supports: `tensorflow-2.15`,
            `tensorflow-2.18`, or `other`, which is not checked. Default: for a public image what its address says, else
            that of `training/Dockerfile`.
        bind_to: `socket`: each rank runs on one CPU socket; `none`: it may use all of its worker's cores. Default:
            `socket` for workers that have a whole node with several sockets.
        backoff_limit: How often the launcher restarts the ranks; each start resumes from the newest checkpoint. A
            lost pod of the launcher is replaced this often too, but at most twice: the third loss ends the job.
        gate: Whether the launcher checks every worker before it starts the ranks: GPUs, EFA, memory, disks and clock.
    """

    framework: str | None = None
    bind_to: _Binding | None = None
    backoff_limit: int = 10
    gate: bool = True

    def __post_init__(self) -> None:
        """Check everything that can be known before the job runs, and derive the job."""
        enforce(self, BASE_RULES)
        # The MPIJob has rules too, such as the length of the pods' names.
        _ = self.mpi_job

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
        return mpi_job(
            self._pods(workers),
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


def _binding(spec: HorovodJobSpec) -> Problems:
    if spec.bind_to is not None:
        yield from one_of("bind_to", spec.bind_to, get_args(_Binding))
    # Another rule reports a wrong type or number of GPUs.
    if spec.bind_to == "socket" and not list(type_and_gpus(spec)) and not _can_bind(spec):
        allowed = (
            f"a worker with {spec.resources.gpus} of the {spec.instance.gpus} GPUs of {spec.instance.name} does not "
            "have an equal number of ranks for each of several sockets"
        )
        yield Problem(path=("bind_to",), given=spec.bind_to, allowed=allowed, fix="omit it")


#: Every rule that is not the MPIJob's.
BASE_RULES: tuple[Callable[[HorovodJobSpec], Problems], ...] = (
    *GPU_JOB_RULES,
    _gpu_of_the_framework,
    _binding,
    lambda spec: at_least("workers", spec.workers, 1, *WORKERS),
    lambda spec: at_least("backoff_limit", spec.backoff_limit, 0),
    lambda spec: one_of("gate", spec.gate, (True, False)),
)
