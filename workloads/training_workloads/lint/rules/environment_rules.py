"""Rules on variables: which reach the ranks, and which name a network that pods do not have."""

from collections.abc import Iterator

from training_workloads.catalog.nodes import EFA_RESOURCE
from training_workloads.lint.finding import Found
from training_workloads.mpijob.launch_command import commands, program_of
from training_workloads.mpijob.programs import RUN_WORKER
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import Path

__all__ = ["efa_not_requested", "fork_safe_variable", "host_network_interface", "variables_do_not_reach_ranks"]

# Read by the container runtime or by sshd, not by the ranks.
_NOT_FOR_RANKS = ("NVIDIA_", "SSH", "OMPI_", "PRTE_", "PMIX_", "I_MPI_", "HYDRA_")

# Variables of the launcher that only the ranks' libraries read.
_FOR_RANKS = ("NCCL_", "FI_", "HOROVOD_", "TF_", "XLA_", "CUDA_", "TORCH_")

# `=` means the whole name (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
_POD_INTERFACE = "eth0"


def efa_not_requested(job: MpiJobView) -> Iterator[Found]:
    """Libfabric may use only EFA, and the workers have no such device (ai-on-sagemaker-hyperpod#134)."""
    if job.replicas and not job.worker.total(EFA_RESOURCE) and not job.worker.sees_devices_otherwise:
        for path, value in job.settings("FI_PROVIDER"):
            if value == "efa" and not _unknown_amount(job):
                fix = f"add {EFA_RESOURCE} to the worker's requests and limits, or remove FI_PROVIDER"
                yield Found(path, f"sets FI_PROVIDER=efa, but the worker does not request {EFA_RESOURCE}", fix)


def _unknown_amount(job: MpiJobView) -> bool:
    """Return whether EFA devices are requested with a placeholder instead of a number."""
    amounts = (container.amounts(kind) for container in job.worker.containers for kind in ("requests", "limits"))
    return any(isinstance(amount.get(EFA_RESOURCE), str) for amount in amounts)


def variables_do_not_reach_ranks(job: MpiJobView) -> Iterator[Found]:
    """Variables of a container that the ranks do not get: an ssh session inherits none, and mpirun exports those of -x.

    horovodrun, Intel MPI and MPICH pass the launcher's variables to the ranks; Open MPI only its own.
    """
    if not job.launches or any(launch.expands or launch.has("mca_base_env_list") for launch in job.launches):
        return
    launcher, worker = job.launcher.first.environment, job.worker.first.environment
    exports_all = any(launch.is_horovod for launch in job.launches) or not job.is_open_mpi
    exported = {name for launch in job.launches for name in launch.exported} | (set(launcher) if exports_all else set())
    if _is_only_sshd(job):
        lost = [name for name in worker if name not in exported and not name.startswith(_NOT_FOR_RANKS)]
        fix = "set them on the launcher" if exports_all else f"set them on the launcher and {_export(lost)}"
        yield from _lost(lost, (*job.worker.first.path, "env"), "the worker's", fix)
    lost = [name for name in launcher if name not in exported and name.startswith(_FOR_RANKS)]
    yield from _lost(lost, (*job.launcher.first.path, "env"), "the launcher's", _export(lost))


def _is_only_sshd(job: MpiJobView) -> bool:
    """Return whether nothing on the worker can give its variables to ssh sessions; an entry script could."""
    argv = job.worker.first.argv
    own = argv[: len(RUN_WORKER)] == list(RUN_WORKER)
    started = commands(argv[len(RUN_WORKER) :] if own else argv)
    return started == [] or (started is not None and [program_of(command) for command in started] == ["sshd"])


def _export(names: list[str]) -> str:
    return f"add {' '.join(f'-x {name}' for name in names)} to mpirun"


def _lost(names: list[str], path: Path, whose: str, fix: str) -> Iterator[Found]:
    if names:
        yield Found(path, f"{whose} {', '.join(names)} do not reach the ranks, which ssh starts", fix)


def host_network_interface(job: MpiJobView) -> Iterator[Found]:
    """NCCL has an interface of the host; a pod without the host's network has only eth0."""
    if job.worker.pod.get("hostNetwork") is True:
        return
    for path, value in job.settings("NCCL_SOCKET_IFNAME"):
        if isinstance(value, str) and _is_of_the_host(value):
            problem = f"sets NCCL_SOCKET_IFNAME={value}, but a pod's interface is {_POD_INTERFACE}"
            yield Found(path, problem, "write NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it")


def _is_of_the_host(value: str) -> bool:
    exact, names = value.startswith("="), value.lstrip("=").split(",")
    if any(_POD_INTERFACE == name if exact else _POD_INTERFACE.startswith(name) for name in names):
        return False
    return all(name.startswith(("en", "eth")) for name in names)


def fork_safe_variable(job: MpiJobView) -> Iterator[Found]:
    """A variable of rdma-core that breaks EFA on newer kernels.

    https://github.com/aws-samples/awsome-distributed-training/blob/main/1.architectures/efa-cheatsheet.md
    """
    for path, value in job.settings("RDMAV_FORK_SAFE"):
        problem = f"sets RDMAV_FORK_SAFE={value}, which can break EFA on newer kernels"
        yield Found(path, problem, "remove it: those kernels fork safely without it")
