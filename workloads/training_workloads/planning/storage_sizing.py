"""The Lustre file system that is large and fast enough for a job to never wait for its images."""

import math
from dataclasses import dataclass
from typing import Any

from training_workloads.catalog.lustre import LUSTRE_THROUGHPUTS, lustre_capacity_gib, lustre_throughput_mbps
from training_workloads.validation import Problem, Problems, at_least, enforce

__all__ = ["IMAGENET_BYTES_PER_IMAGE", "LustreSizing", "size_lustre"]

#: An average training image of ImageNet as JPEG: 1,281,167 images in 138 GB
#: (https://image-net.org/challenges/LSVRC/2012/2012-downloads.php).
IMAGENET_BYTES_PER_IMAGE = 110_000


@dataclass(frozen=True, kw_only=True, slots=True)
class _Demand:
    images_per_second: float
    bytes_per_image: int
    dataset_gib: float

    @property
    def mbps(self) -> float:
        return self.images_per_second * self.bytes_per_image / 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreSizing:
    """A PERSISTENT_2 file system that is large and fast enough; its text shows the arithmetic.

    Attributes:
        capacity_gib: Storage in GiB.
        throughput_mbps_per_tib: Throughput class in MB/s per TiB of storage.
        sustained_mbps: Throughput of capacity and class together, in MB/s.
        images_per_second: Images that all ranks read together.
        bytes_per_image: Size of one stored image.
        dataset_gib: Size of the dataset in GiB.
    """

    capacity_gib: int
    throughput_mbps_per_tib: int
    sustained_mbps: float
    images_per_second: float
    bytes_per_image: int
    dataset_gib: float

    def __str__(self) -> str:
        needed = self.images_per_second * self.bytes_per_image / 1e6
        data = f" and {self.dataset_gib:,.0f} GiB of data" if self.dataset_gib else ""
        return (
            f"Lustre: {self.images_per_second:,.0f} images/s x {self.bytes_per_image / 1e3:,.4g} kB = "
            f"{needed:,.0f} MB/s{data}: {self.capacity_gib} GiB at {self.throughput_mbps_per_tib} MB/s per TiB, "
            f"which sustains {self.sustained_mbps:,.0f} MB/s"
        )


def size_lustre(
    *, images_per_second: float, bytes_per_image: int, dataset_gib: float = 0, efa: bool = False
) -> LustreSizing:
    """Return the smallest PERSISTENT_2 capacity that is fast enough for a job, with its lowest throughput class.

    This assumes the worst case: every image is read from the disks, none from the servers' memory, and compression
    does not help (JPEG files are not compressible).

    Args:
        images_per_second: Images that all ranks read together.
        bytes_per_image: Average size of a stored image in bytes; about 110,000 for ImageNet.
        dataset_gib: Data that the file system must hold, in GiB. Default: only the images that are being read.
        efa: Whether clients mount it over EFA, which needs a larger capacity.

    Raises:
        InputError: One or more values are not positive numbers.
    """
    demand = _Demand(images_per_second=images_per_second, bytes_per_image=bytes_per_image, dataset_gib=dataset_gib)
    enforce(demand, _RULES)
    capacity, throughput = min(_candidate(demand, mbps, efa) for mbps in LUSTRE_THROUGHPUTS["PERSISTENT_2"])
    return LustreSizing(
        capacity_gib=capacity,
        throughput_mbps_per_tib=throughput,
        sustained_mbps=lustre_throughput_mbps(capacity, throughput),
        images_per_second=images_per_second,
        bytes_per_image=bytes_per_image,
        dataset_gib=dataset_gib,
    )


def _candidate(demand: _Demand, mbps_per_tib: int, efa: bool) -> tuple[int, int]:
    """Return the smallest capacity that is enough with a throughput class, and that class."""
    fast_enough = demand.mbps / lustre_throughput_mbps(1, mbps_per_tib)
    needed = max(demand.dataset_gib, fast_enough)
    return lustre_capacity_gib(needed, efa_throughput=mbps_per_tib if efa else None), mbps_per_tib


def _images_are_read(demand: _Demand) -> Problems:
    if not _is_number(demand.images_per_second) or demand.images_per_second <= 0:
        fix = "give a number above 0, such as 2500"
        yield Problem(path=("images_per_second",), given=demand.images_per_second, fix=fix)


def _images_have_a_size(demand: _Demand) -> Problems:
    yield from at_least("bytes_per_image", demand.bytes_per_image, 1)


def _dataset_has_a_size(demand: _Demand) -> Problems:
    if not _is_number(demand.dataset_gib) or demand.dataset_gib < 0:
        fix = "give the dataset's size in GiB, 0 or more"
        yield Problem(path=("dataset_gib",), given=demand.dataset_gib, fix=fix)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_RULES = (_images_are_read, _images_have_a_size, _dataset_has_a_size)
