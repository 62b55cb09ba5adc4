"""What jobs on GPU nodes have in common, whichever library moves their gradients: values, rules and pods."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from training_workloads.catalog import InstanceType, gpu_instance_type
from training_workloads.catalog.instances import supported_gpu_type
from training_workloads.jobs.gpu_pods import GpuPods
from training_workloads.jobs.pod_template import image, namespace, service_account
from training_workloads.jobs.scheduling import Scheduling, is_scheduling
from training_workloads.jobs.volumes import SharedVolume, shared_volumes
from training_workloads.jobs.worker_resources import (
    WorkerResources,
    gpus_that_fit,
    interfaces_of_the_type,
    node_resources,
    worker_resources,
)
from training_workloads.mpijob.bounds import DEADLINE_SECONDS
from training_workloads.mpijob.launch_command import START_TIMEOUT_SECONDS
from training_workloads.mpijob.spec import DAY_SECONDS
from training_workloads.validation import Problem, Problems, at_least, matches, one_of

__all__ = ["GPU_JOB_RULES", "GpuJobSpec", "elastic_bounds", "type_and_gpus"]

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


# Without slots, which would leave no room for what is derived once.
@dataclass(frozen=True, kw_only=True)
class GpuJobSpec:
    """A job on GPU nodes, one rank per GPU. Everything else is derived from these values.

    Attributes:
        name: Name of the job.
        image: The training image.
        command: What each rank runs, such as `("python", "-m", "training.digits", "--output-dir", "/fsx/runs/a")`.
        instance_type: EC2 type of the workers' nodes.
        workers: Worker pods.
        gpus_per_worker: GPUs, and so ranks, of each worker. Default: all of the instance type, one worker per node.
        efa: Whether workers take the EFA devices of their type. False for a node group without EFA. Default: if the
            type has them.
        efa_interfaces: EFA interfaces of each node that whole workers use, to measure what they are worth: 0 is TCP.
            Default: all that the type has.
        environment: Further variables of the ranks; they override the derived ones. Default: none.
        volumes: Shared file systems. Default: the claim of the cluster's Lustre file system, at /fsx.
        namespace: Default: that of kubectl.
        service_account: Service account of the pods, such as that of a `JobIdentity`. Default: the namespace's.
        scheduling: Where and when the pods start. Default: as soon as nodes have room for them.
        start_timeout_seconds: Seconds in which the workers must be there, at the start and after some were lost. Raise
            it where nodes may wait for capacity. Default: 1800.
        deadline_seconds: Seconds after which the job ends, so that one that hangs does not hold its GPUs for ever.
            Default: seven days.
    """

    name: str
    image: str
    command: tuple[str, ...]
    instance_type: str
    workers: int
    gpus_per_worker: int | None = None
    efa: bool | None = None
    efa_interfaces: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    volumes: tuple[SharedVolume, ...] = (SharedVolume(),)
    namespace: str | None = None
    service_account: str | None = None
    scheduling: Scheduling = field(default_factory=Scheduling)
    start_timeout_seconds: int = START_TIMEOUT_SECONDS
    deadline_seconds: int = 7 * DAY_SECONDS

    @cached_property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @cached_property
    def resources(self) -> WorkerResources:
        """The requests of each worker."""
        if self.efa_interfaces is not None:
            return node_resources(self.instance, self.efa_interfaces)
        gpus = self.instance.gpus if self.gpus_per_worker is None else self.gpus_per_worker
        return worker_resources(self.instance, gpus, efa=self.efa is not False)

    @property
    def world_size(self) -> int:
        """Ranks of the whole job."""
        return self.workers * self.resources.gpus

    def _pods(self, workers: int) -> GpuPods:
        """Return the pods with a number of workers."""
        return GpuPods(
            job=self.name,
            image=self.image,
            instance=self.instance,
            resources=self.resources,
            workers=workers,
            volumes=self.volumes,
            scheduling=self.scheduling,
            service_account=self.service_account,
        )


class _IsElastic(Protocol):
    @property
    def workers(self) -> int: ...

    @property
    def min_workers(self) -> int: ...

    @property
    def max_workers(self) -> int | None: ...


def elastic_bounds(spec: _IsElastic) -> Problems:
    """Reject bounds of the number of workers that are none, or that the number at the start is not within."""
    wrong = list(at_least("min_workers", spec.min_workers, 1))
    if spec.max_workers is not None:
        wrong += at_least("max_workers", spec.max_workers, 1)
    yield from wrong
    # Another rule reports a wrong number of workers.
    if wrong or list(at_least("workers", spec.workers, 1)):
        return
    allowed = f"the job has {spec.workers} worker{'s' * (spec.workers > 1)}"
    if spec.min_workers > spec.workers:
        fix = "lower the one or raise the other"
        yield Problem(path=("min_workers",), given=spec.min_workers, allowed=allowed, fix=fix, related=(("workers",),))
    if spec.max_workers is not None and spec.workers > spec.max_workers:
        fix = "raise the one or lower the other"
        yield Problem(path=("max_workers",), given=spec.max_workers, allowed=allowed, fix=fix, related=(("workers",),))


def type_and_gpus(spec: GpuJobSpec) -> Problems:
    """Reject an instance type without GPUs, and a number of GPUs that it does not have."""
    if wrong := list(supported_gpu_type(spec.instance_type)):
        yield from wrong
    elif spec.gpus_per_worker is not None:
        yield from gpus_that_fit(spec.instance, spec.gpus_per_worker, efa=spec.efa is not False)


def _efa(spec: GpuJobSpec) -> Problems:
    """Reject what is no flag, and EFA on a type without it: its pods would get none, and NCCL would use TCP."""
    if spec.efa is None:
        return
    yield from one_of("efa", spec.efa, (True, False))
    # Another rule reports a wrong type.
    if spec.efa is True and not list(supported_gpu_type(spec.instance_type)) and not spec.instance.efa_interfaces:
        allowed = f"{spec.instance_type} has no EFA"
        fix = "omit efa, or choose a type that has it, such as the largest of its family"
        yield Problem(path=("efa",), given=True, allowed=allowed, fix=fix, related=(("instance_type",),))


def _interfaces(spec: GpuJobSpec) -> Problems:
    """Reject a number of EFA interfaces that is none of the type, or of a part of a node."""
    yield from interfaces_of_the_type(spec.instance_type, spec.efa_interfaces)
    if spec.efa_interfaces is None or list(type_and_gpus(spec)):
        return
    for name, given, wrong in (
        ("gpus_per_worker", spec.gpus_per_worker, spec.gpus_per_worker not in (None, spec.instance.gpus)),
        ("efa", spec.efa, spec.efa is not None),
    ):
        if wrong:
            allowed = "with efa_interfaces each worker is a whole node"
            yield Problem(path=(name,), given=given, allowed=allowed, fix="omit it", related=(("efa_interfaces",),))


def _command(spec: GpuJobSpec) -> Problems:
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


def _environment(spec: GpuJobSpec) -> Problems:
    environment: Any = spec.environment
    if not isinstance(environment, dict):
        yield Problem(path=("environment",), given=environment, fix="give a dictionary of names and values")
        return
    for name, value in environment.items():
        yield from matches("environment", name, _VARIABLE, "names of letters, digits and '_'")
        rule = "a string without NUL characters" if isinstance(value, str) else "a text, in quotes"
        for problem in matches(str(name), value, r"[^\0]*", rule):
            yield problem.under("environment")


#: Every rule of the values above, but for the name, whose longest form depends on the kind of job.
GPU_JOB_RULES: tuple[Callable[[GpuJobSpec], Problems], ...] = (
    _command,
    image,
    type_and_gpus,
    lambda spec: at_least("workers", spec.workers, 1),
    _efa,
    _interfaces,
    lambda spec: at_least("deadline_seconds", spec.deadline_seconds, 1, *DEADLINE_SECONDS),
    lambda spec: at_least("start_timeout_seconds", spec.start_timeout_seconds, 1),
    namespace,
    service_account,
    _environment,
    lambda spec: shared_volumes("volumes", spec.volumes),
    is_scheduling,
)
