"""What a workload is for, as far as its commands show: training, or a look at the pods and their network."""

import re
from pathlib import PurePosixPath

from training_workloads.manifests.workload import WorkloadView

__all__ = ["is_look", "is_test"]

# https://github.com/NVIDIA/nccl-tests, OSU's and libfabric's benchmarks.
_TEST = re.compile(r"\b(\w+_perf|nccl[-_]?tests?|osu_\w+|fi_pingpong|fi_rdm_\w+)\b")

# Programs that send no data over NCCL.
_LOOK = ("nvidia-smi", "sleep", "hostname", "fi_info", "ibv_devinfo", "lspci")


def is_test(workload: WorkloadView) -> bool:
    """Return whether a workload tests the network: it takes any variables, and needs few CPUs and little memory."""
    return any(_TEST.search(word) for container in workload.containers for word in container.argv)


def is_look(workload: WorkloadView) -> bool:
    """Return whether a container only shows what a pod has, or waits for a user."""
    return any(PurePosixPath(word).name in _LOOK for one in workload.containers for word in one.argv)
