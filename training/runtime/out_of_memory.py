"""Memory that does not suffice: the error names the options to lower."""

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from training.runtime.errors import RankError

# XLA and the GPU's libraries report it within errors of other kinds.
_WORDS = ("RESOURCE_EXHAUSTED", "Out of memory", "OUT_OF_MEMORY", "ALLOC_FAILED")


@contextmanager
def reported(lower: str) -> Iterator[None]:
    """Turn TensorFlow's errors of a memory that does not suffice into one that says how to fix it.

    Args:
        lower: Options to change, such as "give '--batch-size' 128 or less".

    Raises:
        RankError: The memory of this rank's device, or of its machine, does not suffice.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if not _is_out_of_memory(error):
            raise
        reason = error.message.strip().partition("\n")[0]
        raise RankError(f"the memory does not suffice ({reason}); {lower}") from error


def _is_out_of_memory(error: tf.errors.OpError) -> bool:
    if isinstance(error, tf.errors.ResourceExhaustedError):
        # A full disk is reported by the same kind of error.
        return "No space left on device" not in error.message
    is_wrapped = isinstance(error, tf.errors.InternalError | tf.errors.UnknownError)
    return is_wrapped and any(words in error.message for words in _WORDS)
