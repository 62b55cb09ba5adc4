"""The purpose of a workload, as far as its commands show: training or a test of the network, one rank or several."""

import re
from collections.abc import Iterator, Sequence

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.launch_facts import ranks_per_node, spawns_ranks, workers_of
from training_workloads.manifests.pods import Container
from training_workloads.manifests.torchrun import torchrun
from training_workloads.manifests.values import mapping, whole
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.launch_command import Launch, commands, launches, program_of
from training_workloads.mpijob.view import MpiJobView

__all__ = ["has_one_rank", "has_several_ranks", "is_network_test", "only_inspects", "runs_network_test"]

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


# With which torchrun starts one rank for each GPU.
_FOR_EACH_GPU = ("auto", "gpu")


def has_several_ranks(workload: WorkloadView, container: Container) -> bool:
    """Return whether a container with several GPUs certainly holds several ranks, which exchange data."""
    if only_inspects(workload):
        return False
    if isinstance(workload, MpiJobView):
        several = any(_is_several(workload, launch) for launch in workload.launches)
        return several or _starts_deepspeed(workload.launcher.first)
    return _starts_deepspeed(container) or _torch_starts_several(workload, container)


def has_one_rank(workload: WorkloadView, container: Container) -> bool:
    """Return whether a container holds one rank as far as its commands show, however many GPUs it has."""
    if isinstance(workload, MpiJobView):
        return bool(workload.launches) and not has_several_ranks(workload, container)
    run = torchrun(container.argv)
    return bool(run and run.ranks == 1)


def _is_several(job: MpiJobView, launch: Launch) -> bool:
    """Return whether a launch of an MPIJob puts several ranks into a worker."""
    if spawns_ranks(launch):
        return True
    workers = workers_of(job)
    share = launch.ranks // workers if launch.ranks and workers else job.slots
    return (ranks_per_node(launch) or share or 0) > 1


def _starts_deepspeed(container: Container) -> bool:
    return any(program_of(command) == "deepspeed" for command in commands(container.argv) or [])


def _torch_starts_several(workload: WorkloadView, container: Container) -> bool:
    policy = mapping(workload.spec.get("mlPolicy"))
    trainers = (workload.spec.get("trainer"), policy.get("torch"), policy.get("mpi"))
    given = [mapping(one).get("numProcPerNode") for one in trainers]
    if run := torchrun(container.argv):
        given += [run.options.get("nproc-per-node"), workload.spec.get("nprocPerNode"), run.ranks]
    return any(one in _FOR_EACH_GPU or (whole(one) or 0) > 1 or _digits(one) > 1 for one in given)


def _digits(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 6 else 0
