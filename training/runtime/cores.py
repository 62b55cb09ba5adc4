"""A rank's part of the cores of its machine."""

from training.runtime import torchrun_environment


def share_of_cores(usable: int, present: int, local_size: int) -> int:
    """Return a rank's cores: all it was bound to, or an equal part of the machine where mpirun bound nothing.

    Torchrun binds nothing: where not all cores are usable, the container or the user has limited all ranks together.
    """
    if usable < present and not torchrun_environment.by_torchrun():
        return usable
    return max(1, usable // local_size)
