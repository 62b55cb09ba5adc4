"""A rank's part of the cores of its machine."""


def share_of_cores(usable: int, present: int, local_size: int) -> int:
    """Return a rank's cores: all it was bound to, or an equal part of the machine where mpirun bound nothing."""
    return usable if usable < present else max(1, present // local_size)
