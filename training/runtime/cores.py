"""A rank's part of the cores of its machine."""

import os

from . import torchrun_environment
from .errors import UserError

_THREADS = "TRAINING_DATA_THREADS"


def share_of_cores(local_size: int) -> int:
    """Return a rank's cores: all it was bound to, or an equal part of the machine where mpirun bound nothing.

    Torchrun binds nothing: where not all cores are usable, the container or the user has limited all ranks together.
    """
    usable = len(os.sched_getaffinity(0))
    if usable < (os.cpu_count() or 1) and not torchrun_environment.by_torchrun():
        return usable
    return max(1, usable // local_size)


def data_threads(local_size: int) -> int:
    """Return the number of threads that decode: TRAINING_DATA_THREADS, or else the rank's share of the cores.

    Args:
        local_size: Ranks on this machine or in this pod.

    Raises:
        UserError: The environment variable is not a whole number above 0.
    """
    given = os.environ.get(_THREADS)
    if given is None:
        return share_of_cores(local_size)
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"the environment variable {_THREADS} is {given!r}; give a whole number, 1 or more")
    return int(given)
