"""What a workload is for, as far as its commands show: training, or a look at the pods and their network."""

import re
from collections.abc import Iterator, Sequence

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.manifests.pods import Container
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.launch_command import commands, launches, program_of
from training_workloads.mpijob.view import MpiJobView

__all__ = ["is_network_test", "only_inspects", "runs_network_test"]

# https://github.com/NVIDIA/nccl-tests, OSU's and libfabric's benchmarks.
_NETWORK_TEST = re.compile(r"\w+_perf(_mpi)?|nccl[-_]?tests?|osu_\w+|fi_pingpong|fi_rdm_\w+|nvbandwidth")

# Programs that send no data over NCCL, and those of a script around them.
_INSPECTING = {"nvidia-smi", "sleep", "tail", "hostname", "fi_info", "ibv_devinfo", "lspci", "nvbandwidth"}
_OF_A_SCRIPT = {"", "cat", "cd", "date", "done", "echo", "env", "export", "fi", "ls", "printenv", "set", "trap", "wait"}


def runs_network_test(words: Sequence[str]) -> bool:
    """Return whether a command runs a test of NCCL, MPI or libfabric, which has no input pipeline."""
    return any(_NETWORK_TEST.fullmatch(program_of(command)) for command in commands(words) or [])


def is_network_test(workload: WorkloadView) -> bool:
    """Return whether a workload tests the network: it takes any variables, and needs few CPUs and little memory."""
    return any(map(runs_network_test, _started(workload)))


def only_inspects(workload: WorkloadView) -> bool:
    """Return whether what runs on the GPUs only shows what a pod has, or waits for a user."""
    programs = {program_of(command) for words in _started(workload) for command in commands(words) or []}
    return bool(programs & _INSPECTING) and programs <= _INSPECTING | _OF_A_SCRIPT


def _started(workload: WorkloadView) -> Iterator[Sequence[str]]:
    """Yield the commands of the ranks: those that a launcher starts, and those of the containers with GPUs."""
    for container in _of_ranks(workload):
        if found := launches(container.argv):
            yield from (launch.program for launch in found)
        else:
            yield from (command for command in commands(container.argv) or [] if program_of(command) != "sshd")


def _of_ranks(workload: WorkloadView) -> Iterator[Container]:
    if isinstance(workload, MpiJobView):
        yield workload.launcher.first
    yield from (one for pods in workload.rank_groups if (one := pods.holder(GPU_RESOURCE)))
