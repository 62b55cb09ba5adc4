"""A Horovod job: from the workers' instance type to a complete MPIJob."""

from functools import cached_property
from typing import Annotated, Literal

from training_workloads.catalog.framework_images import (
    DEFAULT_FRAMEWORK,
    FRAMEWORKS,
    OTHER_FRAMEWORK,
    SupportedGpus,
    known_framework,
    shown_capability,
    supported_compute_capabilities,
)
from training_workloads.jobs.gpu_job import GpuJobSpec
from training_workloads.jobs.mpi_pods import SSH_KEYS, LauncherSpec, mpi_job
from training_workloads.jobs.rank_environment import hierarchical_all_reduce, rank_environment
from training_workloads.mpijob.bounds import WORKERS
from training_workloads.mpijob.launcher_argv import mpirun_command
from training_workloads.mpijob.mpi_job import MpiJobSpec
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, at_least

__all__ = ["HorovodJobSpec"]


def _supported_gpus(spec: "HorovodJobSpec") -> SupportedGpus | None:
    if spec.framework == OTHER_FRAMEWORK:
        return None
    public = supported_compute_capabilities(spec.image) if spec.framework is None else None
    return public or FRAMEWORKS[spec.framework or DEFAULT_FRAMEWORK]


def _can_bind(spec: "HorovodJobSpec") -> bool:
    """Return whether a worker has all sockets of its node, and each socket the same number of its ranks."""
    sockets = spec.instance.sockets or 1
    return sockets > 1 and spec.resources.gpus == spec.instance.gpus and spec.instance.gpus % sockets == 0


class HorovodJobSpec(GpuJobSpec, LauncherSpec):
    """A Horovod job on GPU nodes, one rank per GPU. Everything else is derived from these values.

    Its image is built from `training/Dockerfile`; another one needs its user, sshd and `training/`. The launcher's pod
    ends if no worker answers within `start_timeout_seconds`; two more pods try again, so that the job fails after at
    most three times as long.

    Attributes:
        framework: What the image contains, which decides on the GPUs that it supports: `tensorflow-2.15`,
            `tensorflow-2.18`, or `other`, which is not checked. Default: for a public image what its address says, else
            that of `training/Dockerfile`.
        bind_to: `socket`: each rank runs on one CPU socket; `none`: it may use all of its worker's cores. Default:
            `socket` for workers that have a whole node with several sockets.
    """

    workers: Annotated[int, Checked(at_least, 1, *WORKERS)]
    framework: Annotated[str, Checked(known_framework)] | None = None
    bind_to: Literal["socket", "none"] | None = None

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
        return mpi_job(self.pods, self, mpirun, ranks, max_cost=self.max_cost)


@HorovodJobSpec.rule
def _gpu_of_the_framework(spec: HorovodJobSpec) -> Problems:
    gpu, supported = spec.instance.gpu, _supported_gpus(spec)
    if gpu and supported and not supported.includes(gpu):
        allowed = f"its {gpu.model} has compute capability {shown_capability(gpu.compute_capability)}, and {supported}"
        fix = "choose a type with another GPU, or for an image that supports this one give the framework 'other'"
        path, related = ("instance_type",), (("framework",),)
        yield Problem(path=path, given=spec.instance_type, allowed=allowed, fix=fix, related=related)


@HorovodJobSpec.rule
def _binding(spec: HorovodJobSpec) -> Problems:
    if spec.bind_to == "socket" and not _can_bind(spec):
        allowed = (
            f"a worker with {spec.resources.gpus} of the {spec.instance.gpus} GPUs of {spec.instance.name} does not "
            "have an equal number of ranks for each of several sockets"
        )
        yield Problem(path=("bind_to",), given=spec.bind_to, allowed=allowed, fix="omit it")


@HorovodJobSpec.rule
def _keys(spec: HorovodJobSpec) -> Problems:
    for number, volume in enumerate(spec.volumes):
        if f"{volume.mount_path}/".startswith(f"{SSH_KEYS}/"):
            path, allowed = ("volumes", number, "mount_path"), f"the operator mounts the job's ssh keys at {SSH_KEYS}"
            yield Problem(path=path, given=volume.mount_path, allowed=allowed, fix="give another path, such as /fsx")


@HorovodJobSpec.rule
def _operator(spec: HorovodJobSpec) -> Problems:
    """Raise the problems of the MPIJob, such as the length of the pods' names."""
    _ = spec.mpi_job
    return iter(())
