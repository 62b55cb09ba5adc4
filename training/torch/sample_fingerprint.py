"""The fingerprint of a sample: whether a data set still has the samples that it had at an earlier start."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from .state_arrays import to_array


def fingerprint(sample: Any) -> str:
    """Return a digest of the values in a sample; of an object of another kind than the usual ones, its type counts."""
    digest = hashlib.blake2b(digest_size=16)
    _add(sample, digest)
    return digest.hexdigest()


def _add(value: Any, digest: Any) -> None:
    digest.update(type(value).__name__.encode())
    if isinstance(value, torch.Tensor):
        value = to_array(value)
    if isinstance(value, np.ndarray | np.generic):
        digest.update(f"{value.shape} {value.dtype}".encode() + value.tobytes())
    elif isinstance(value, str | bytes | int | float | complex | None):
        digest.update(repr(value).encode())
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _add(key, digest)
            _add(each, digest)
    elif isinstance(value, list | tuple):
        digest.update(str(len(value)).encode())
        for each in value:
            _add(each, digest)
    elif hasattr(value, "tobytes"):
        # An image of Pillow.
        digest.update(value.tobytes())
