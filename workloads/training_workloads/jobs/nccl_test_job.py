"""A test of the network between GPU nodes: what NCCL reaches, and whether it uses EFA."""

from functools import cached_property
from typing import Annotated, Literal

from training_workloads.catalog import BusBandwidth, InstanceType
from training_workloads.jobs.gpu_pods import GpuNodesSpec, GpuPods
from training_workloads.jobs.mpi_pods import LauncherSpec, mpi_job
from training_workloads.jobs.rank_environment import nccl_environment
from training_workloads.mpijob.bounds import WORKERS
from training_workloads.mpijob.launcher_argv import mpirun_command
from training_workloads.mpijob.mpi_job import MpiJobSpec
from training_workloads.mpijob.programs import NCCL_TEST
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, above_zero, at_least

__all__ = ["Collective", "NcclTestJobSpec"]

Collective = Literal["all_reduce", "all_gather", "reduce_scatter"]

# A cluster passes with this share of what was published for its type. The published runs were on nodes side by side;
# a fallback to TCP, or to one of several EFA interfaces, is far below it.
_PASSING_SHARE = 0.8

# nccl-tests holds a message three times (sent, received, expected), and NCCL needs room as well.
_MESSAGES_IN_MEMORY = 4
_LARGEST_MESSAGE_GIB = 16

# An hour is enough for every message size from 8 bytes to 16 GiB; a hanging network must not hold the nodes. A restart
# on a network that is too slow would be too slow as well.
_LAUNCHER = LauncherSpec(backoff_limit=0, deadline_seconds=3600)


def _message_that_fits(instance: InstanceType) -> int:
    """The largest power of two in GiB that fits into a GPU of the type, three times and NCCL's buffers."""
    memory_gib = instance.gpu.memory_gib if instance.gpu else 0
    room = max(1, min(_LARGEST_MESSAGE_GIB, memory_gib // _MESSAGES_IN_MEMORY))
    return 1 << (room.bit_length() - 1)


class NcclTestJobSpec(GpuNodesSpec):
    """A run of nccl-tests on whole nodes: it ends with an error where the network is slow, wrong, or not EFA.

    Attributes:
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
    """

    nodes: Annotated[int, Checked(at_least, 1, *WORKERS)] = 2
    collective: Collective = "all_reduce"
    minimum_bus_bandwidth: Annotated[float, Checked(above_zero)] | None = None
    message_gib: Annotated[int, Checked(at_least, 1)] | None = None

    @property
    def used_interfaces(self) -> int:
        """EFA interfaces of each node that are used."""
        return self.instance.efa_interfaces if self.efa_interfaces is None else self.efa_interfaces

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
        pods = GpuPods(spec=self, workers=self.nodes)
        return mpi_job(pods, _LAUNCHER, self._command(environment), environment)

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


@NcclTestJobSpec.rule
def _message(spec: NcclTestJobSpec) -> Problems:
    gpu = spec.instance.gpu
    if gpu and spec.message_gib is not None and spec.message_gib * 3 >= gpu.memory_gib:
        allowed = f"a GPU of {spec.instance.name} has {gpu.memory_gib} GiB and must hold the message three times"
        fix = f"lower it to {_message_that_fits(spec.instance)}"
        yield Problem(path=("message_gib",), given=spec.message_gib, allowed=allowed, fix=fix)


@NcclTestJobSpec.rule
def _operator(spec: NcclTestJobSpec) -> Problems:
    """Raise the problems of the MPIJob, such as the length of the pods' names."""
    _ = spec.mpi_job
    return iter(())
