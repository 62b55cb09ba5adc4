"""FSx for Lustre on SSD: sizes, throughput classes and limits, each stated once with its source.

Everything was read on 2026-11-21. FSx counts storage in GiB and throughput in MB/s (10^6 bytes) per TiB of storage.
"""

import math

__all__ = [
    "LUSTRE_EFA_STEPS_GIB",
    "LUSTRE_MAX_DATA_REPOSITORIES",
    "LUSTRE_SMALLEST_GIB",
    "LUSTRE_STEP_GIB",
    "LUSTRE_THROUGHPUTS",
    "lustre_capacity_gib",
    "lustre_throughput_mbps",
]

#: SCRATCH_2 and PERSISTENT_2 have 1200 GiB, or a multiple of 2400 GiB.
#: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html (StorageCapacity)
LUSTRE_SMALLEST_GIB = 1200
LUSTRE_STEP_GIB = 2400

#: MB/s per TiB by deployment type, the default first; SCRATCH_2 has one rate and takes no choice.
#: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html
#: https://docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html
LUSTRE_THROUGHPUTS = {"PERSISTENT_2": (125, 250, 500, 1000), "SCRATCH_2": (200,)}

#: With EFA the capacity is a multiple of a step that depends on the throughput class, in GiB by MB/s per TiB.
#: https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html
LUSTRE_EFA_STEPS_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}

#: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
LUSTRE_MAX_DATA_REPOSITORIES = 8

_GIB_PER_TIB = 1024


def lustre_capacity_gib(at_least_gib: float, *, efa_throughput: int | None = None) -> int:
    """Return the smallest capacity that FSx offers for an amount of data.

    Args:
        at_least_gib: Size of the data in GiB.
        efa_throughput: Throughput class of a file system with EFA, in MB/s per TiB. Default: without EFA.
    """
    if efa_throughput is None and at_least_gib <= LUSTRE_SMALLEST_GIB:
        return LUSTRE_SMALLEST_GIB
    step = LUSTRE_STEP_GIB if efa_throughput is None else LUSTRE_EFA_STEPS_GIB[efa_throughput]
    return max(1, math.ceil(at_least_gib / step)) * step


def lustre_throughput_mbps(capacity_gib: int, mbps_per_tib: int) -> float:
    """Return the sustained disk throughput of a file system in MB/s.

    AWS's guide rounds 2400 GiB to 2.4 TiB; here a TiB has 1024 GiB, so the result is 2 % lower.
    """
    return capacity_gib / _GIB_PER_TIB * mbps_per_tib
