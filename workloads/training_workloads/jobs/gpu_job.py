"""What training jobs on GPU nodes have in common, whichever library moves their gradients."""

from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from training_workloads.jobs.cost_cap import cap_problems
from training_workloads.jobs.gpu_pods import GpuNodesSpec, GpuPods, LimitsSpec
from training_workloads.jobs.pod_template import ServiceAccount
from training_workloads.jobs.volumes import SharedVolume, shared_volumes
from training_workloads.jobs.worker_resources import WorkerResources, gpus_that_fit, worker_resources
from training_workloads.manifests.interfaces import (
    INTERFACE_VARIABLES,
    LOOPBACK,
    NCCL_INTERFACES,
    POD_INTERFACE,
    names_interface,
)
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, above_zero, at_least, matches

__all__ = ["ElasticGpuJobSpec", "GpuJobSpec", "elastic_bounds"]

_Variable = Annotated[str, Checked(matches, r"[A-Za-z_][A-Za-z0-9_]*", "names of letters, digits and '_'")]
_Text = Annotated[str, Checked(matches, r"[^\0]*", "a text without NUL characters, in quotes")]
_Count = Annotated[int, Checked(at_least, 1)]


def _words(name: str, command: Any) -> Problems:
    """Reject anything but the words of a command."""
    if isinstance(command, str):
        yield Problem(path=(name,), given=command, fix=f"give a tuple of words: {tuple(command.split())}")
    elif (
        not isinstance(command, tuple)
        or not command
        or not all(isinstance(word, str) and word and "\0" not in word for word in command)
    ):
        fix = "give the program that each rank runs, as a tuple of words"
        yield Problem(path=(name,), given=command, fix=fix)


class GpuJobSpec(GpuNodesSpec, LimitsSpec):
    """A job on GPU nodes, one rank per GPU. Everything else is derived from these values.

    Attributes:
        command: What each rank runs, such as `("python", "-m", "training.digits", "--output-dir", "/fsx/runs/a")`.
        workers: Worker pods.
        gpus_per_worker: GPUs, and so ranks, of each worker. Default: all of the instance type, one worker per node.
        efa_interfaces: EFA interfaces of each node that workers use: 0 is TCP, as for a node group without EFA; another
            number is for whole nodes, to measure what an interface is worth. Default: the worker's share of the type's.
        environment: Further variables of the ranks; they override the derived ones. Default: none.
        volumes: Shared file systems. Default: the claim of the cluster's Lustre file system, at /fsx.
        service_account: Service account of the pods, such as that of a `JobIdentity`. Default: the namespace's.
        max_cost: Dollars that the run may cost, over all its starts, at the On-Demand price of its workers' nodes: then
            the ranks get a stop request, at which they save, and the job ends. Default: no limit.
    """

    command: Annotated[tuple[str, ...], Checked(_words)]
    workers: _Count
    gpus_per_worker: _Count | None = None
    environment: dict[_Variable, _Text] = Field(default_factory=dict)
    volumes: Annotated[tuple[SharedVolume, ...], Checked(shared_volumes)] = (SharedVolume(),)
    service_account: ServiceAccount | None = None
    max_cost: Annotated[float, Checked(above_zero)] | None = None

    @cached_property
    def resources(self) -> WorkerResources:
        """The requests of each worker."""
        return worker_resources(self.instance, self.gpus_per_worker, self.efa_interfaces)

    @property
    def world_size(self) -> int:
        """Ranks of the whole job."""
        return self.workers * self.resources.gpus

    @cached_property
    def pods(self) -> GpuPods:
        """The job's pods."""
        return GpuPods(spec=self, workers=self.workers, volumes=self.volumes, service_account=self.service_account)


@GpuJobSpec.rule
def _gpus(spec: GpuJobSpec) -> Problems:
    """Reject a number of GPUs that the type does not have, and some of the EFA interfaces for a part of a node."""
    if spec.gpus_per_worker is None:
        return
    yield from gpus_that_fit(spec.instance, spec.gpus_per_worker, spec.efa_interfaces)
    if spec.efa_interfaces and spec.gpus_per_worker < spec.instance.gpus:
        gpus = f"{spec.instance.gpus} GPUs of {spec.instance.name}"
        yield Problem(
            path=("efa_interfaces",),
            given=spec.efa_interfaces,
            allowed=f"a number is for whole nodes, and a worker has {spec.gpus_per_worker} of the {gpus}",
            fix=f"omit it, or give each worker all {spec.instance.gpus} GPUs",
            related=(("gpus_per_worker",),),
        )


@GpuJobSpec.rule
def _max_cost(spec: GpuJobSpec) -> Problems:
    yield from cap_problems(spec.max_cost, spec.instance, spec.resources.gpus, spec.workers)


@GpuJobSpec.rule
def _interfaces(spec: GpuJobSpec) -> Problems:
    """Reject interfaces through which no worker reaches another one."""
    for name in INTERFACE_VARIABLES:
        value = spec.environment.get(name, "")
        if value.removeprefix("=") == LOOPBACK and spec.workers > 1:
            allowed = "through it a worker reaches only itself"
        elif name == NCCL_INTERFACES and value.startswith("^") and names_interface(name, value, POD_INTERFACE):
            allowed = f"it excludes {POD_INTERFACE}, the only interface of a pod"
        else:
            continue
        yield Problem(path=("environment", name), given=value, allowed=allowed, fix=f"give {POD_INTERFACE}, or omit it")


class ElasticGpuJobSpec(GpuJobSpec):
    """A job on GPU nodes whose number of workers may change while it runs.

    Attributes:
        workers: Worker pods when the job is created.
        min_workers: Workers with which the job starts, and below which it waits for others. Default: 1.
        max_workers: Workers that the job can be scaled to. Default: `workers`.
    """

    min_workers: _Count = 1
    max_workers: _Count | None = None

    @property
    def largest(self) -> int:
        """Worker pods at most."""
        return self.workers if self.max_workers is None else self.max_workers


@ElasticGpuJobSpec.rule
def elastic_bounds(spec: ElasticGpuJobSpec) -> Problems:
    """Reject bounds that the number of workers at the start is not within."""
    allowed = f"the job has {spec.workers} worker{'s' * (spec.workers > 1)}"
    if spec.min_workers > spec.workers:
        fix = "lower the one or raise the other"
        yield Problem(path=("min_workers",), given=spec.min_workers, allowed=allowed, fix=fix, related=(("workers",),))
    if spec.workers > spec.largest:
        fix = "raise the one or lower the other"
        yield Problem(path=("max_workers",), given=spec.max_workers, allowed=allowed, fix=fix, related=(("workers",),))
