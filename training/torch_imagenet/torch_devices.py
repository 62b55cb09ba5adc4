"""Which device a rank computes on, and its memory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from training.runtime import ranks
from training.runtime.cores import share_of_cores
from training.runtime.errors import RankError


def choose() -> torch.device:
    """Give each rank of a machine one GPU, or its share of the CPU's cores.

    Raises:
        RankError: The machine has more ranks than GPUs.
    """
    current, gpus = ranks.current(), torch.cuda.device_count()
    if not gpus:
        # torchrun would leave one core to each of several ranks.
        torch.set_num_threads(share_of_cores(len(os.sched_getaffinity(0)), os.cpu_count() or 1, current.local_size()))
        return torch.device("cpu")
    if 1 < gpus < current.local_size():
        raise RankError(
            f"{current.local_size()} ranks on this machine, which has {gpus} GPUs; start {gpus} ranks or fewer on each"
        )
    # Where the scheduler shows a rank only one GPU, it is this rank's.
    device = torch.device("cuda", current.local_rank() % gpus)
    torch.cuda.set_device(device)
    return device


def name(device: torch.device) -> str:
    """Return what a person calls the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def make_deterministic() -> None:
    """Compute the same every time, to the last bit; an operation that cannot raises an error."""
    # cuBLAS reads it when it starts: https://docs.nvidia.com/cuda/cublas/#results-reproducibility
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)


@contextmanager
def memory_reported(lower: str) -> Iterator[None]:
    """Turn an error of a GPU's memory that does not suffice into one that says what to do.

    Args:
        lower: What to do, such as "give '--batch-size' 128 or less".

    Raises:
        RankError: The memory of this rank's GPU does not suffice.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        reason = str(error).strip().partition("\n")[0]
        raise RankError(f"the memory does not suffice ({reason}); {lower}") from error
