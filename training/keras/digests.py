"""Short numbers of the content of arrays, which show whether two are the same without sending them."""

import hashlib
from typing import Any

import numpy as np
import tensorflow as tf


def digest(nested: Any) -> str:
    """Return a number of the shapes, types and values of nested arrays."""
    found = hashlib.blake2b(digest_size=8)
    for array in tf.nest.flatten(nested):
        given = np.asarray(array)
        found.update(repr((given.shape, str(given.dtype))).encode())
        # The bytes of strings are elsewhere.
        found.update(repr(given.tolist()).encode() if given.dtype.hasobject else np.ascontiguousarray(given).data)
    return found.hexdigest()
