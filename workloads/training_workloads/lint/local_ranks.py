"""Whether one rank or several run in one pod, as far as a job shows it."""

from training_workloads.lint.launch_facts import ranks_per_node, spawns_ranks, workers_of
from training_workloads.lint.purpose import only_inspects
from training_workloads.manifests.pods import Container
from training_workloads.manifests.torchrun import torchrun
from training_workloads.manifests.values import mapping, whole
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.launch_command import Launch, commands, program_of
from training_workloads.mpijob.view import MpiJobView

__all__ = ["has_one_rank", "has_several_ranks"]

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
