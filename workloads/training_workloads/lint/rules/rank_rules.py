"""Rules on what the ranks of an MPIJob get: GPUs, slots and variables."""

import re
from collections.abc import Iterator
from decimal import Decimal
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
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import AMOUNT_KINDS, amount_of
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
    gpus, slots = job.worker.total(GPU_RESOURCE), job.slots or 0
    if slots <= 0 or slots == gpus or not _has_whole_gpus(job.worker):
        return
    # The discovery script of an elastic job prints no slots.
    if any(launch.has(DISCOVERY_SCRIPT_OPTION) for launch in job.launches):
        return
    may_use_all = slots == 1 and not job.launches
    if may_use_all or any(_fits(job, launch, gpus) for launch in job.launches):
        return
    given = "is missing, and its default is 1" if job.spec.get("slotsPerWorker") is None else f"is {slots}"
    problem = f"{given}, but each worker has {gpus} GPUs"
    yield Found(("spec", "slotsPerWorker"), problem, f"write slotsPerWorker: {gpus}, one rank for each GPU")


def _has_whole_gpus(pods: PodGroup) -> bool:
    """Return whether pods request GPUs as a node has them; another amount is the mistake of another rule."""
    gpus, holder = pods.total(GPU_RESOURCE), pods.holder(GPU_RESOURCE)
    if holder is None or gpus != gpus.to_integral_value():
        return False
    amounts = {amount_of(holder.amounts(kind).get(GPU_RESOURCE)) for kind in AMOUNT_KINDS}
    most = max((one.gpus for one in node_types(pods)), default=0)
    return len(amounts - {None}) == 1 and not 0 < most < gpus


def _fits(job: MpiJobView, launch: Launch, gpus: Decimal) -> bool:
    """Return whether a launch suits slots that are not the GPUs of a worker."""
    # One rank on a node may start a process for each GPU.
    if job.slots == 1 and _may_use_all(launch):
        return True
    # Written down twice, one rank for each worker is meant: its program uses all GPUs, as servers of models do.
    if job.spec.get("slotsPerWorker") == 1 and launch.ranks == job.total_slots:
        return True
    # Slots that no rank takes do no harm.
    each = ranks_per_node(launch)
    if each and each <= gpus < (job.slots or 0):
        return True
    # Too many ranks for the slots are an error of another rule.
    return (launch.ranks or 0) == gpus * workers_of(job) > (job.total_slots or 0)


def _may_use_all(launch: Launch) -> bool:
    """Return whether one rank may use all GPUs of its node: `-g 8` of NCCL's tests, or processes that it starts."""
    return spawns_ranks(launch) or runs_script(launch) or bool(_SEVERAL_GPUS.search(" ".join(launch.program)))


_SEVERAL_GPUS = re.compile(r"_perf\S* (.* )?(-g|--ngpus|-t|--nthreads)[ =]?([2-9]|\d\d)")


# Read by the container runtime or by sshd, not by the ranks; no value of CUDA_VISIBLE_DEVICES is right for all ranks.
_NOT_FOR_RANKS = ("NVIDIA_", "CUDA_VISIBLE_DEVICES", "SSH", "OMPI_", "PRTE_", "PMIX_", "I_MPI_", "HYDRA_")

# Variables of the launcher that only the ranks' libraries read, and those that PyTorch does not read.
_FOR_RANKS = (
    *("NCCL_", "OFI_NCCL_", "FI_", "RDMAV_", "HOROVOD_", "GLOO_", "CUDA_", "TORCH_", "PYTORCH_"),
    *("OMP_", "MKL_", "KMP_", "MASTER_", "WANDB_", "HF_", "PYTHONPATH"),
)
_FOR_XLA = ("TF_", "XLA_", "JAX_")
_WITH_XLA = re.compile("tensorflow|tf|jax|xla|horovod", re.IGNORECASE)

# Values that programs take as a variable that is not set.
_AS_UNSET = ("", "0", "false")

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
    if not _exports_are_known(job):
        return
    launcher = job.launcher.first
    exported = {*_EXPORT.findall("\n".join(launcher.argv)), *misspelled_exports(job).values()}
    exports_all = any(launch.is_horovod for launch in job.launches) or not job.is_open_mpi
    if exports_all:
        exported |= set(launcher.environment)
    if _is_only_sshd(job):
        lost = [name for name in _missed(job.worker.first, exported) if not name.startswith(_NOT_FOR_RANKS)]
        fix = "set them on the launcher" if exports_all else f"set them on the launcher and {_export(lost)}"
        yield from _lost(lost, (*job.worker.first.path, "env"), "the worker's", fix)
    lost = [name for name in _missed(launcher, exported) if name.startswith(_read_by_ranks(launcher))]
    yield from _lost(lost, (*launcher.path, "env"), "the launcher's", _export(lost))


def _exports_are_known(job: MpiJobView) -> bool:
    """Return whether the words of each launch show all variables that it gives to the ranks."""
    if any(launch.expands or launch.has("mca_base_env_list") for launch in job.launches):
        return False
    # Without a list of words the launch is not known.
    lists = (job.launcher.first.content.get(name) for name in ("command", "args"))
    return bool(job.launches) and all(isinstance(words, list | None) for words in lists)


def _missed(container: Container, exported: set[str]) -> list[str]:
    """Return the variables of a container that are not exported, and that ranks do something else without."""
    values = {name: value for name, (value, _) in container.environment.items() if name not in exported}
    return [name for name, value in values.items() if _has_effect(name, value)]


def _has_effect(name: str, value: Any) -> bool:
    is_default = str(value).lower() in _AS_UNSET or _DEFAULTS.get(name) == value
    return not is_default and not _WITHOUT_EFFECT.fullmatch(name)


def _read_by_ranks(launcher: Container) -> tuple[str, ...]:
    """Return how the variables begin that ranks read, by the frameworks that the launcher's words and image name."""
    named = [*launcher.argv, str(launcher.content.get("image"))]
    return (*_FOR_RANKS, *_FOR_XLA) if any(map(_WITH_XLA.search, named)) else _FOR_RANKS


def _is_only_sshd(job: MpiJobView) -> bool:
    """Return whether nothing on the worker can give its variables to ssh sessions; an entry script could."""
    started = worker_commands(job.worker.first.argv)
    return started == [] or (started is not None and [program_of(command) for command in started] == ["sshd"])


def _export(names: list[str]) -> str:
    return f"add {' '.join(f'-x {name}' for name in names)} to mpirun"


def _lost(names: list[str], path: Path, whose: str, fix: str) -> Iterator[Found]:
    if names:
        yield Found(path, f"{whose} {', '.join(names)} do not reach the ranks, which ssh starts", fix)
