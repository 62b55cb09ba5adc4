"""A test of the network between GPU nodes: what NCCL reaches, and whether it uses EFA."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from training_workloads.catalog import BusBandwidth, InstanceType, gpu_instance_type
from training_workloads.catalog.instances import supported_gpu_type
from training_workloads.jobs.gpu_pods import GpuPods
from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.mpi_pods import mpi_job
from training_workloads.jobs.pod_template import above_zero, image, namespace
from training_workloads.jobs.rank_environment import nccl_environment
from training_workloads.jobs.scheduling import Scheduling, is_scheduling
from training_workloads.jobs.worker_resources import WorkerResources, interfaces_of_the_type, node_resources
from training_workloads.mpijob.bounds import WORKERS
from training_workloads.mpijob.launch_command import mpirun_command
from training_workloads.mpijob.programs import NCCL_TEST
from training_workloads.mpijob.spec import MpiJobSpec
from training_workloads.validation import Problem, Problems, at_least, enforce, one_of

__all__ = ["Collective", "NcclTestJob", "NcclTestJobSpec"]

Collective = Literal["all_reduce", "all_gather", "reduce_scatter"]

# A cluster passes with this share of what was published for its type. The published runs were on nodes side by side;
# a fallback to TCP, or to one of several EFA interfaces, is far below it.
_PASSING_SHARE = 0.8

# nccl-tests holds a message three times (sent, received, expected), and NCCL needs room as well.
_MESSAGES_IN_MEMORY = 4
_LARGEST_MESSAGE_GIB = 16

# Enough for every message size from 8 bytes to 16 GiB; a hanging network must not hold the nodes.
_DEADLINE_SECONDS = 3600


# Without slots, which would leave no room for what is derived once.
@dataclass(frozen=True, kw_only=True)
class NcclTestJobSpec:
    """A run of nccl-tests on whole nodes: it ends with an error where the network is slow, wrong, or not EFA.

    Attributes:
        name: Name of the job.
        image: The training image, built with CUDA, which brings nccl-tests.
        instance_type: EC2 type of the nodes.
        nodes: Nodes, all GPUs of each. Default: 2.
        collective: `all_reduce` (default), `all_gather` or `reduce_scatter`.
        efa_interfaces: EFA interfaces of each node that are used: 0 tests the TCP network, 1 a single interface.
            Default: all that the type has.
        minimum_bus_bandwidth: Bus bandwidth (`busbw`) in GB/s (10^9 bytes) below which the job fails. Default: 80 % of
            the catalog's figure for an all-reduce with all EFA interfaces; where there is none, none.
        message_gib: Size of the largest message in GiB. Default: that of the catalog's figure, else what the GPU's
            memory has room for.
        namespace: Default: that of kubectl.
        scheduling: Where and when the pods start. Default: as soon as nodes have room for them.
    """

    name: str
    image: str
    instance_type: str
    nodes: int = 2
    collective: Collective = "all_reduce"
    efa_interfaces: int | None = None
    minimum_bus_bandwidth: float | None = None
    message_gib: int | None = None
    namespace: str | None = None
    scheduling: Scheduling = field(default_factory=Scheduling)

    def __post_init__(self) -> None:
        """Check everything that can be known before the job runs, and derive the job."""
        enforce(self, _RULES)
        # The MPIJob has rules too, such as the length of the pods' names.
        _ = self.mpi_job

    @cached_property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @property
    def used_interfaces(self) -> int:
        """EFA interfaces of each node that are used."""
        return self.instance.efa_interfaces if self.efa_interfaces is None else self.efa_interfaces

    @cached_property
    def resources(self) -> WorkerResources:
        """The requests of each worker: the whole node, but only the EFA interfaces that are used."""
        return node_resources(self.instance, self.used_interfaces)

    @cached_property
    def published(self) -> BusBandwidth | None:
        """The catalog's figure for such a run; None where it has none to compare with."""
        figure = self.instance.all_reduce_bandwidth
        alike = self.collective == "all_reduce" and self.used_interfaces == self.instance.efa_interfaces
        if not figure or not alike or self.nodes == 1:
            return None
        # Smaller messages are slower on any network.
        return figure if self.message_gib is None or self.message_gib >= figure.message_gib else None

    @property
    def largest_message_gib(self) -> int:
        """Size of the largest message in GiB, at which the bandwidth is compared."""
        if self.message_gib is not None:
            return self.message_gib
        return self.published.message_gib if self.published else _message_that_fits(self.instance)

    @cached_property
    def mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs the test."""
        environment = nccl_environment(self.resources, self.nodes)
        pods = GpuPods(
            job=self.name,
            image=self.image,
            instance=self.instance,
            resources=self.resources,
            workers=self.nodes,
            volumes=(),
            scheduling=self.scheduling,
        )
        return mpi_job(
            pods,
            namespace=self.namespace,
            command=self._command(environment),
            environment=environment,
            # A restart on a network that is too slow would be too slow as well.
            backoff_limit=0,
            deadline_seconds=_DEADLINE_SECONDS,
        )

    def _command(self, environment: dict[str, str]) -> list[str]:
        """Return the command that starts mpirun, reads its output and decides whether the network passes."""
        world_size = self.nodes * self.instance.gpus
        # Sizes double from 8 bytes on; one GPU for each rank, and results are checked.
        largest = f"{self.largest_message_gib}G"
        program = [f"{self.collective}_perf", "-b", "8", "-e", largest, "-f", "2", "-g", "1", "-c", "1", "-n", "20"]
        test = [*NCCL_TEST, "--collective", self.collective, "--nodes", str(self.nodes)]
        test += ["--efa-interfaces", str(self.used_interfaces if self.nodes > 1 else 0), *self._threshold()]
        return [*test, "--", *mpirun_command(world_size, environment, program)]

    def _threshold(self) -> list[str]:
        if self.minimum_bus_bandwidth is not None:
            return ["--minimum-bus-bandwidth", f"{self.minimum_bus_bandwidth:g}"]
        if not self.published:
            return []
        figure = self.published
        minimum = figure.gigabytes_per_second * _PASSING_SHARE
        reference = (
            f"{_PASSING_SHARE:.0%} of {figure.gigabytes_per_second:g} GB/s at {figure.message_gib} GiB on "
            f"{figure.nodes} nodes, {figure.source}"
        )
        compared = ["--message-gib", str(figure.message_gib), "--published", reference]
        return ["--minimum-bus-bandwidth", f"{minimum:.1f}", *compared]


class NcclTestJob(IsolatedMpiJob[NcclTestJobSpec]):
    """A test of the network in a chart, with its NetworkPolicy."""

    kind = NcclTestJobSpec


def _message_that_fits(instance: InstanceType) -> int:
    """The largest power of two in GiB that fits into a GPU of the type, three times and NCCL's buffers."""
    memory_gib = instance.gpu.memory_gib if instance.gpu else 0
    room = max(1, min(_LARGEST_MESSAGE_GIB, memory_gib // _MESSAGES_IN_MEMORY))
    return 1 << (room.bit_length() - 1)


def _message(spec: NcclTestJobSpec) -> Problems:
    if spec.message_gib is None:
        return
    wrong = list(at_least("message_gib", spec.message_gib, 1))
    yield from wrong
    gpu = None if wrong or list(supported_gpu_type(spec.instance_type)) else spec.instance.gpu
    if gpu and spec.message_gib * 3 >= gpu.memory_gib:
        allowed = f"a GPU of {spec.instance.name} has {gpu.memory_gib} GiB and must hold the message three times"
        fix = f"lower it to {_message_that_fits(spec.instance)}"
        yield Problem(path=("message_gib",), given=spec.message_gib, allowed=allowed, fix=fix)


_RULES = (
    image,
    namespace,
    is_scheduling,
    lambda spec: supported_gpu_type(spec.instance_type),
    lambda spec: at_least("nodes", spec.nodes, 1, *WORKERS),
    lambda spec: one_of("collective", spec.collective, get_args(Collective)),
    lambda spec: interfaces_of_the_type(spec.instance_type, spec.efa_interfaces),
    _message,
    lambda spec: above_zero("minimum_bus_bandwidth", spec.minimum_bus_bandwidth),
)
