"""The random states of a process: Python's, NumPy's, and PyTorch's of the CPU and of each GPU."""

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def capture() -> dict[str, Any]:
    """Return the present states."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
        # Only where the process uses GPUs: a question would prepare them.
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
    }


def restore(states: Mapping[str, Any]) -> None:
    """Set the states that `capture` has returned."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    # Another machine may have fewer GPUs.
    for device, state in enumerate(states["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(state, device)


def seed(*numbers: int) -> None:
    """Set all states by these numbers, GPUs included."""
    mixed = seed_cpu(*numbers)
    torch.manual_seed(mixed)


def seed_cpu(*numbers: int) -> int:
    """Set the states of the CPU by these numbers, in microseconds; return the seed that they give."""
    # Numbers that differ by one must not give similar seeds.
    content = b"".join(number.to_bytes(16, "little", signed=True) for number in numbers)
    mixed = int.from_bytes(hashlib.blake2b(content, digest_size=7).digest(), "little")
    random.seed(mixed)
    np.random.seed(mixed % 2**32)
    # `torch.manual_seed` takes ten times as long, because it asks for GPUs.
    torch.default_generator.manual_seed(mixed)
    return mixed


@contextmanager
def kept() -> Iterator[None]:
    """Leave the states of the CPU after the block as they were before it."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
