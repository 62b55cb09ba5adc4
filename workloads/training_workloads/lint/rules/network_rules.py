"""Rules on variables that name a network which pods do not have, or break it."""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, warning
from training_workloads.manifests.workload import WorkloadView

# `=` means the whole name (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
_POD_INTERFACE = "eth0"


@warning("A pod without the host's network has eth0 only")
def host_network_interface(workload: WorkloadView) -> Iterator[Found]:
    """NCCL has an interface of the host; a pod without the host's network has only eth0."""
    if any(pods.pod.get("hostNetwork") is True for pods in workload.rank_groups):
        return
    for path, value in workload.settings("NCCL_SOCKET_IFNAME"):
        if isinstance(value, str) and _is_of_the_host(value):
            problem = f"sets NCCL_SOCKET_IFNAME={value}, but a pod's interface is {_POD_INTERFACE}"
            yield Found(path, problem, "write NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it")


def _is_of_the_host(value: str) -> bool:
    exact, names = value.startswith("="), value.lstrip("=").split(",")
    if any(_POD_INTERFACE == name if exact else _POD_INTERFACE.startswith(name) for name in names):
        return False
    return all(name.startswith(("en", "eth")) for name in names)


@warning(
    "It breaks EFA on newer kernels ([cheat "
    "sheet](https://github.com/aws-samples/awsome-distributed-training/blob/main/1.architectures/efa-cheatsheet.md))"
)
def fork_safe_variable(workload: WorkloadView) -> Iterator[Found]:
    """A variable of rdma-core that breaks EFA on newer kernels.

    https://github.com/aws-samples/awsome-distributed-training/blob/main/1.architectures/efa-cheatsheet.md
    """
    for path, value in workload.settings("RDMAV_FORK_SAFE"):
        problem = f"sets RDMAV_FORK_SAFE={value}, which can break EFA on newer kernels"
        yield Found(path, problem, "remove it: those kernels fork safely without it")
