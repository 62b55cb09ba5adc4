"""Rules on variables that are left from debugging: they make training slow, or a failed rank hang the others.

NCCL's documentation lists those that are not for production:
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#debugging
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from training_workloads.catalog.nodes import EFA_RESOURCE, GPU_RESOURCE
from training_workloads.lint.node_types import node_sizes, node_types
from training_workloads.lint.purpose import has_several_ranks, is_network_test
from training_workloads.lint.rule import Found, warning
from training_workloads.lint.variables import set_variables
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import amount_of
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.view import MpiJobView


class _Effect(NamedTuple):
    """The effect of a variable's value.

    Attributes:
        values: The values, in lower case.
        problem: The effect, as a clause.
    """

    values: str
    problem: str


_ON = "[1-9][0-9]*|true|yes|on"
_OFF = "0|false|no|off"

# Between the GPUs of one pod.
_BETWEEN_GPUS = {
    "NCCL_P2P_DISABLE": _Effect("[1-9][0-9]*", "the GPUs of a pod exchange data through its memory, not over NVLink"),
    "NCCL_P2P_LEVEL": _Effect("loc|0", "the GPUs of a pod exchange data through its memory, not over NVLink"),
    "NCCL_SHM_DISABLE": _Effect("[1-9][0-9]*", "processes of a pod exchange data over the network"),
}

# Between pods with EFA.
_BETWEEN_PODS = {
    "FI_EFA_USE_DEVICE_RDMA": _Effect(_OFF, "data between GPUs is copied through memory"),
    "NCCL_NET_GDR_LEVEL": _Effect("loc|0", "data between GPUs is copied through memory"),
}

_ANYWHERE = {
    "CUDA_LAUNCH_BLOCKING": _Effect(_ON, "the program waits for each kernel"),
    "NCCL_CHECK_POINTERS": _Effect("[1-9][0-9]*", "NCCL checks every pointer of every call"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": _Effect(_ON, "PyTorch asks the driver for each tensor's memory"),
    "TORCH_DISTRIBUTED_DEBUG": _Effect("detail", "PyTorch compares every collective between all ranks"),
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": _Effect("0", "ranks wait for ever for one that has failed"),
    "NCCL_ASYNC_ERROR_HANDLING": _Effect("0", "ranks wait for ever for one that has failed"),
    "FI_LOG_LEVEL": _Effect("debug", "libfabric logs every operation"),
    "HOROVOD_LOG_LEVEL": _Effect("trace", "Horovod logs every tensor"),
    "NCCL_DEBUG": _Effect("trace", "NCCL logs every call"),
    "HOROVOD_CYCLE_TIME": _Effect(r"\d{3,}(\.\d*)?", "gradients wait that many milliseconds"),
    "HOROVOD_STALL_CHECK_DISABLE": _Effect(_ON, "ranks that hang are not reported"),
    "TF_CPP_MAX_VLOG_LEVEL": _Effect("[1-9][0-9]*", "TensorFlow logs every operation"),
}


@warning(
    "Not for production ([NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#debugging), "
    "[PyTorch](https://docs.pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications), "
    "[libfabric](https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html))"
)
def debugging_variable(workload: WorkloadView) -> Iterator[Found]:
    """A variable for debugging, with which training is slow, or hangs."""
    name_of_job = str(workload.metadata.get("name"))
    if is_network_test(workload) or _FOR_DEBUGGING.search(name_of_job):
        return
    effects = dict(_ANYWHERE)
    if any(_has_nvlink(pods) for pods in workload.rank_groups):
        effects |= _BETWEEN_GPUS
    if any(pods.total(EFA_RESOURCE) > 1 for pods in workload.rank_groups):
        effects |= _BETWEEN_PODS
    for name, value, path, _ in set_variables(workload, effects):
        # Of an MPIJob the launcher's value is that of the ranks.
        if isinstance(workload, MpiJobView) and name in workload.launcher.first.environment and "Worker" in path:
            continue
        if re.fullmatch(effects[name].values, value.strip().lower()):
            yield Found(path, f"sets {name}={value}, with which {effects[name].problem}", "remove it")


# In the name of a job that is there to look for a mistake.
_FOR_DEBUGGING = re.compile(r"debug|smoke|test|diag|check|bench", re.IGNORECASE)


def _has_nvlink(pods: PodGroup) -> bool:
    """Return whether the pod certainly has several GPUs with links between them, which others than P do not have."""
    types = node_types(pods)
    return pods.total(GPU_RESOURCE) > 1 and any(one.name.startswith("p") for one in types)


_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@warning("Each rank starts that many threads ([OpenMP](https://www.openmp.org/spec-html/5.0/openmpse50.html))")
def more_threads_than_cpus(workload: WorkloadView) -> Iterator[Found]:
    """Threads for each rank that are together more than the CPUs of a pod."""
    pods = max(workload.rank_groups, key=lambda one: one.total(GPU_RESOURCE), default=None)
    holder = pods.holder(GPU_RESOURCE) if pods else None
    # One process may have all GPUs.
    if pods is None or holder is None or pods.total(GPU_RESOURCE) < 2 or not has_several_ranks(workload, holder):
        return
    limit = amount_of(holder.amounts("limits").get("cpu"))
    cpus = limit or max((Decimal(size.cpus) for size in node_sizes(pods)), default=None)
    for name, value, path, _ in set_variables(workload, _THREADS):
        threads = int(value) if value.isdecimal() and len(value) < 6 else 0
        ranks = pods.total(GPU_RESOURCE)
        if cpus and threads * ranks > cpus:
            problem = f"sets {name}={value} for each of {ranks} ranks, which have {cpus:f} CPUs together"
            yield Found(path, problem, f"write {name}={max(1, int(cpus / ranks))} or less")
