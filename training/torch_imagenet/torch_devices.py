"""Which device a rank computes on, and its memory."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
import torchvision

from training.runtime import ranks
from training.runtime.cores import share_of_cores
from training.runtime.errors import LostProcessError, RankError


def choose() -> torch.device:
    """Give each rank of a machine one GPU, or its share of the CPU's cores.

    Raises:
        RankError: There is no GPU for this rank.
    """
    current, gpus = ranks.current(), torch.cuda.device_count()
    if not gpus:
        # torchrun would leave one core to each of several ranks.
        torch.set_num_threads(share_of_cores(current.local_size()))
        return torch.device("cpu")
    # NCCL does not connect two ranks on one GPU.
    if current.local_rank() >= gpus:
        raise RankError(
            f"it sees {gpus} of the machine's GPUs, and LOCAL_RANK is {current.local_rank()}, counted from 0; give "
            f"torchrun '--nproc-per-node {gpus}' or less. Where each rank sees only its own GPU, set LOCAL_RANK to 0, "
            "as torchrun does with '--virtual-local-rank'"
        )
    device = torch.device("cuda", current.local_rank())
    torch.cuda.set_device(device)
    return device


def name(device: torch.device) -> str:
    """Return the name of the device for people."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def versions() -> dict[str, str]:
    """Return the versions of the software that a figure depends on."""
    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "numpy": np.__version__,
    }
    if torch.cuda.is_available():
        found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return found


def make_deterministic() -> None:
    """Compute the same every time, to the last bit; an operation that cannot raises an error."""
    # cuBLAS reads it when it starts: https://docs.nvidia.com/cuda/cublas/#results-reproducibility
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)


@contextmanager
def losses_reported(lower: str) -> Iterator[None]:
    """Turn errors of a memory that does not suffice, and of a process that was ended, into ones that say how to fix it.

    Args:
        lower: Options to change, such as "give '--batch-size' 128 or less".

    Raises:
        RankError: The memory of this rank's GPU does not suffice.
        LostProcessError: A process that decodes images was ended.
    """
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().partition("\n")[0]
        if isinstance(error, torch.OutOfMemoryError):
            raise RankError(f"the memory does not suffice ({reason}); {lower}") from error
        # PyTorch has no class for it.
        if reason.startswith("DataLoader worker"):
            raise LostProcessError(
                f"a process that decodes images has ended ({reason}), as the kernel ends one when memory runs out; "
                "start this run again, and where it repeats, give fewer '--data-workers' or more memory"
            ) from error
        raise
