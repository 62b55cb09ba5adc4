"""The number of threads of a rank that make elements of batches."""

import os

from training.runtime.cores import share_of_cores
from training.runtime.errors import UserError

_THREADS = "TRAINING_DATA_THREADS"


def data_threads(local_size: int) -> int:
    """Return the number of threads that decode: TRAINING_DATA_THREADS, or else the rank's share of the cores.

    Args:
        local_size: Ranks on this machine or in this pod.

    Raises:
        UserError: The environment variable is not a whole number above 0.
    """
    given = os.environ.get(_THREADS)
    if given is None:
        return share_of_cores(len(os.sched_getaffinity(0)), os.cpu_count() or 1, local_size)
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"the environment variable {_THREADS} is {given!r}; give a whole number, 1 or more")
    return int(given)
