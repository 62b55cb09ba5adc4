"""Rules on what the ranks of an MPIJob get: GPUs, slots and variables."""

import re
from collections.abc import Iterator
from typing import Any

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.launch_facts import (
    misspelled_exports,
    ranks_per_node,
    runs_script,
    spawns_ranks,
    workers_of,
)
from training_workloads.lint.node_types import node_types
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import OPERATOR
from training_workloads.manifests.values import amount_of
from training_workloads.mpijob.launch_command import Launch, program_of
from training_workloads.mpijob.launch_options import DISCOVERY_SCRIPT_OPTION
from training_workloads.mpijob.sshd_command import worker_commands
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import Path


@error(f"The operator hides them from it with an empty `NVIDIA_VISIBLE_DEVICES` {OPERATOR}")
def launcher_holds_gpus(job: MpiJobView) -> Iterator[Found]:
    """GPUs of the launcher, which the operator hides from it (`NVIDIA_VISIBLE_DEVICES=""`)."""
    holder = job.launcher.holder(GPU_RESOURCE)
    if holder and job.role("Worker") and not job.launcher_holds_ranks:
        problem = f"the launcher requests {GPU_RESOURCE}: {holder.amount(GPU_RESOURCE)}, which nothing can use there"
        fix = "remove them, or set spec.runLauncherAsWorker: true so that ranks run there"
        yield Found(holder.place(GPU_RESOURCE), problem, fix)


@error(f"The operator writes the launcher into the hostfile as a worker, and its ranks find no GPU {OPERATOR}")
def launcher_lacks_gpus(job: MpiJobView) -> Iterator[Found]:
    """A launcher that holds ranks like the workers, and has no GPUs like them."""
    if job.launcher_holds_ranks and job.worker.total(GPU_RESOURCE) and not job.launcher.total(GPU_RESOURCE):
        problem = f"is true, but the launcher requests no {GPU_RESOURCE}, and {job.slots} ranks start there"
        yield Found(("spec", "runLauncherAsWorker"), problem, "remove it, or give the launcher the workers' resources")


@warning("Ranks share a GPU, or GPUs stay idle (derived)")
def slots_differ_from_gpus(job: MpiJobView) -> Iterator[Found]:
    """Slots that are not the GPUs of a worker: ranks share GPUs, or GPUs stay idle."""
    gpus, most = job.worker.total(GPU_RESOURCE), max((one.gpus for one in node_types(job.worker)), default=0)
    holder = job.worker.holder(GPU_RESOURCE)
    kinds = [holder.amounts(kind) for kind in ("requests", "limits")] if holder else []
    amounts = {amount_of(kind.get(GPU_RESOURCE)) for kind in kinds}
    # A request that no node has, or that is not the limit, is the mistake of another rule.
    if len(amounts - {None}) > 1 or 0 < most < gpus:
        return
    # The discovery script of an elastic job prints no slots.
    if any(launch.has(DISCOVERY_SCRIPT_OPTION) for launch in job.launches):
        return
    # One rank on a node may start a process for each GPU; too many ranks for the slots are an error of another rule.
    one_each = job.slots == 1 and (not job.launches or any(map(_may_use_all, job.launches)))
    # Written down twice, one rank for each worker is meant: its program uses all GPUs, as servers of models do.
    is_meant = job.spec.get("slotsPerWorker") == 1 and any(one.ranks == job.total_slots for one in job.launches)
    # Slots that no rank takes do no harm.
    if (
        job.slots is not None
        and job.slots > gpus
        and any((ranks_per_node(one) or gpus + 1) <= gpus for one in job.launches)
    ):
        return
    if (
        one_each
        or is_meant
        or any((launch.ranks or 0) == gpus * workers_of(job) > (job.total_slots or 0) for launch in job.launches)
    ):
        return
    if gpus and gpus == gpus.to_integral_value() and job.slots is not None and job.slots > 0 and job.slots != gpus:
        given = "is missing, and its default is 1" if job.spec.get("slotsPerWorker") is None else f"is {job.slots}"
        problem = f"{given}, but each worker has {gpus} GPUs"
        yield Found(("spec", "slotsPerWorker"), problem, f"write slotsPerWorker: {gpus}, one rank for each GPU")


def _may_use_all(launch: Launch) -> bool:
    """Return whether one rank may use all GPUs of its node: `-g 8` of NCCL's tests, or processes that it starts."""
    return spawns_ranks(launch) or runs_script(launch) or bool(_SEVERAL_GPUS.search(" ".join(launch.program)))


_SEVERAL_GPUS = re.compile(r"_perf\S* (.* )?(-g|--ngpus|-t|--nthreads)[ =]?([2-9]|\d\d)")


# Read by the container runtime or by sshd, not by the ranks; no value of CUDA_VISIBLE_DEVICES is right for all ranks.
_NOT_FOR_RANKS = ("NVIDIA_", "CUDA_VISIBLE_DEVICES", "SSH", "OMPI_", "PRTE_", "PMIX_", "I_MPI_", "HYDRA_")


# Variables of the launcher that only the ranks' libraries read.
_FOR_RANKS = (
    *("NCCL_", "OFI_NCCL_", "FI_", "RDMAV_", "HOROVOD_", "GLOO_", "TF_", "XLA_", "JAX_", "CUDA_", "TORCH_", "PYTORCH_"),
    *("OMP_", "MKL_", "KMP_", "MASTER_", "WANDB_", "HF_", "PYTHONPATH"),
)

# What programs take as a variable that is not set, and variables that PyTorch does not read.
_AS_UNSET = ("", "0", "false")
_OF_XLA = ("TF_", "XLA_", "JAX_")

# Settings that other ones have no effect without, that only change what is logged, or that are the default.
_WITHOUT_EFFECT = re.compile(
    r"UCX_\w+|RDMAV_FORK_SAFE|NCCL_DEBUG\w*|\w+_LOG_LEVEL|TF_CPP_\w+|FI_EFA_(FORK_SAFE|USE_DEVICE_RDMA)"
    r"|PYTHONUNBUFFERED|DEBIAN_FRONTEND|TZ|LANG|LC_ALL|(POD|NODE|MY_POD|MY_NODE)_\w+"
)
_DEFAULTS = {"FI_PROVIDER": "efa", "NCCL_SOCKET_IFNAME": "eth0", "GLOO_SOCKET_IFNAME": "eth0"}

# In a command that breaks elsewhere too, which another rule reports.
_EXPORT = re.compile(r"-x\s+(\w+)")


@warning(
    "ssh starts the ranks, and inherits no variables of the container "
    "([mpirun](https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html))"
)
def variables_do_not_reach_ranks(job: MpiJobView) -> Iterator[Found]:
    """Variables of a container that the ranks do not get: an ssh session inherits none, and mpirun exports those of -x.

    horovodrun, Intel MPI and MPICH pass the launcher's variables to the ranks; Open MPI only its own.
    """
    if not job.launches or any(launch.expands or launch.has("mca_base_env_list") for launch in job.launches):
        return
    launcher, worker = job.launcher.first.environment, job.worker.first.environment
    # Without a list of words the launch is not known.
    given = [job.launcher.first.content.get(name) for name in ("command", "args")]
    if any(one is not None and not isinstance(one, list) for one in given):
        return
    exports_all = any(launch.is_horovod for launch in job.launches) or not job.is_open_mpi
    exported = set(_EXPORT.findall("\n".join(job.launcher.first.argv))) | (set(launcher) if exports_all else set())
    exported |= set(misspelled_exports(job).values())
    if _is_only_sshd(job):
        lost = [name for name in worker if name not in exported and not name.startswith(_NOT_FOR_RANKS)]
        lost = [name for name in lost if _has_effect(name, worker[name][0])]
        fix = "set them on the launcher" if exports_all else f"set them on the launcher and {_export(lost)}"
        yield from _lost(lost, (*job.worker.first.path, "env"), "the worker's", fix)
    lost = [name for name in launcher if name not in exported and name.startswith(_FOR_RANKS)]
    frameworks = " ".join((*job.launcher.first.argv, str(job.launcher.first.content.get("image")))).lower()
    has_xla = any(name in frameworks for name in ("tensorflow", "tf", "jax", "xla", "horovod"))
    lost = [name for name in lost if has_xla or not name.startswith(_OF_XLA)]
    lost = [name for name in lost if _has_effect(name, launcher[name][0])]
    yield from _lost(lost, (*job.launcher.first.path, "env"), "the launcher's", _export(lost))


def _has_effect(name: str, value: Any) -> bool:
    """Return whether ranks without a variable certainly do something else."""
    is_default = str(value).lower() in _AS_UNSET or _DEFAULTS.get(name) == value
    return not is_default and not _WITHOUT_EFFECT.fullmatch(name)


def _is_only_sshd(job: MpiJobView) -> bool:
    """Return whether nothing on the worker can give its variables to ssh sessions; an entry script could."""
    started = worker_commands(job.worker.first.argv)
    return started == [] or (started is not None and [program_of(command) for command in started] == ["sshd"])


def _export(names: list[str]) -> str:
    return f"add {' '.join(f'-x {name}' for name in names)} to mpirun"


def _lost(names: list[str], path: Path, whose: str, fix: str) -> Iterator[Found]:
    if names:
        yield Found(path, f"{whose} {', '.join(names)} do not reach the ranks, which ssh starts", fix)
