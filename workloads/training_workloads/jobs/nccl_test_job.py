"""A test of the network between GPU nodes: what NCCL reaches, and whether it uses EFA."""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from constructs import Construct

from training_workloads.catalog import BusBandwidth, InstanceType, gpu_instance_type
from training_workloads.jobs.gpu_pods import GpuPods
from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.rank_environment import nccl_environment
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.spec_rules import check_image, check_namespace, check_number, check_scheduling
from training_workloads.jobs.worker_resources import WorkerResources, worker_resources
from training_workloads.mpijob.launch_command import WAIT_FOR_WORKERS, mpirun_command
from training_workloads.mpijob.programs import NCCL_TEST
from training_workloads.mpijob.spec import MpiJobSpec
from training_workloads.validation import InputError, check_at_least, check_one_of, enforce

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


@dataclass(frozen=True, kw_only=True, slots=True)
class NcclTestJobSpec:
    """A run of nccl-tests on whole nodes: it ends with an error where the network is slow, wrong, or not EFA.

    Attributes:
        name: Name of the job.
        image: The training image, built with CUDA, which brings nccl-tests.
        instance_type: EC2 type of the nodes.
        nodes: Nodes, all GPUs of each.
        collective: `all_reduce`, `all_gather` or `reduce_scatter`.
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
        """Checks everything that can be known before the job runs."""
        enforce(self, _RULES)
        self.to_mpi_job()

    @property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @property
    def used_interfaces(self) -> int:
        """EFA interfaces of each node that are used."""
        return self.instance.efa_interfaces if self.efa_interfaces is None else self.efa_interfaces

    @property
    def resources(self) -> WorkerResources:
        """What each worker asks of its node: everything but the EFA interfaces that shall not be used."""
        whole = worker_resources(self.instance, self.instance.gpus, efa=self.used_interfaces > 0)
        return replace(whole, efa_interfaces=self.used_interfaces)

    @property
    def published(self) -> BusBandwidth | None:
        """The catalog's figure for such a run; None where there is none to compare with."""
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

    def to_mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs the test.

        Raises:
            InputError: A value is not allowed, or does not go with the instance type.
        """
        pods = GpuPods(
            job=self.name,
            image=self.image,
            instance=self.instance,
            resources=self.resources,
            workers=self.nodes,
            volumes=(),
            scheduling=self.scheduling,
        )
        return pods.mpi_job(
            namespace=self.namespace,
            command=self._command(),
            environment=self._environment(),
            # A second run of a network that is too slow would be too slow as well.
            backoff_limit=0,
            deadline_seconds=_DEADLINE_SECONDS,
        )

    def _environment(self) -> dict[str, str]:
        return nccl_environment(self.resources, self.nodes)

    def _command(self) -> list[str]:
        """The judge, which starts mpirun, reads its output and decides."""
        world_size = self.nodes * self.instance.gpus
        # Sizes double from 8 bytes on; one GPU for each rank, and results are checked.
        largest = f"{self.largest_message_gib}G"
        program = [f"{self.collective}_perf", "-b", "8", "-e", largest, "-f", "2", "-g", "1", "-c", "1", "-n", "20"]
        judge = [*NCCL_TEST, "--collective", self.collective, "--nodes", str(self.nodes)]
        judge += ["--efa-interfaces", str(self.used_interfaces if self.nodes > 1 else 0), *self._threshold()]
        return [*WAIT_FOR_WORKERS, *judge, "--", *mpirun_command(world_size, self._environment(), program)]

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


class NcclTestJob(IsolatedMpiJob):
    """A test of the network in a chart.

    Attributes:
        spec: What it was made from.
        mpi_job: The MPIJob.
        network_policy: What keeps other pods from the job's.
    """

    kind = NcclTestJobSpec

    def __init__(self, scope: Construct, id: str, *, spec: NcclTestJobSpec) -> None:
        """Defines the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The test.
        """
        super().__init__(scope, id, spec=spec)
        self.spec = spec


def _message_that_fits(instance: InstanceType) -> int:
    """The largest power of two in GiB that fits into a GPU of the type, three times and NCCL's buffers."""
    memory_gib = instance.gpu.memory_gib if instance.gpu else 0
    room = max(1, min(_LARGEST_MESSAGE_GIB, memory_gib // _MESSAGES_IN_MEMORY))
    return 1 << (room.bit_length() - 1)


def _check_interfaces(spec: NcclTestJobSpec) -> None:
    if spec.efa_interfaces is None:
        return
    check_at_least("efa_interfaces", spec.efa_interfaces, 0)
    if spec.efa_interfaces > spec.instance.efa_interfaces:
        raise InputError(
            f"'efa_interfaces' is {spec.efa_interfaces} but {spec.instance.name} has {spec.instance.efa_interfaces}; "
            "lower it, or leave it out to use all"
        )


def _check_message(spec: NcclTestJobSpec) -> None:
    if spec.message_gib is None:
        return
    check_at_least("message_gib", spec.message_gib, 1)
    gpu = spec.instance.gpu
    if gpu and spec.message_gib * 3 >= gpu.memory_gib:
        raise InputError(
            f"'message_gib' is {spec.message_gib}, but a GPU of {spec.instance.name} has {gpu.memory_gib} GiB and must "
            f"hold the message three times; lower it to {_message_that_fits(spec.instance)}"
        )


_RULES = (
    check_image,
    check_namespace,
    check_scheduling,
    lambda spec: spec.instance,
    lambda spec: check_at_least("nodes", spec.nodes, 1),
    lambda spec: check_one_of("collective", spec.collective, get_args(Collective)),
    _check_interfaces,
    _check_message,
    lambda spec: check_number("minimum_bus_bandwidth", spec.minimum_bus_bandwidth),
)
