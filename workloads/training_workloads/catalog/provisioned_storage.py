"""Storage of a cluster that costs by its size and its speed, used or not: root volumes and FSx for Lustre."""

from dataclasses import dataclass, replace
from typing import Self

from training_workloads.catalog.instance_type import Price
from training_workloads.catalog.lustre import LUSTRE_THROUGHPUTS
from training_workloads.catalog.prices import LUSTRE, VOLUME, VOLUME_IOPS, VOLUME_THROUGHPUT

__all__ = ["FREE_IOPS", "FREE_MIB_PER_SECOND", "IOPS_PER_MIB", "LustreStorage", "RootVolume"]

#: Every gp3 volume has these, and carries 0.25 MiB/s for each of its IOPS, up to 2,000 MiB/s and 80,000 IOPS
#: (https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-performance; read 2026-11-23 in CDK's
#: `EbsDeviceOptions`, which quotes the page, and the largest IOPS in excerpts of other projects).
FREE_MIB_PER_SECOND = 125
FREE_IOPS = 3000
IOPS_PER_MIB = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class RootVolume:
    """The gp3 volume of a node.

    Attributes:
        gib: Its size in GiB.
        iops: Its I/O operations per second. Default: those that every gp3 volume has.
        mib_per_second: Its throughput in MiB/s. Default: that of every gp3 volume.
    """

    gib: int
    iops: int = FREE_IOPS
    mib_per_second: int = FREE_MIB_PER_SECOND

    @classmethod
    def with_throughput(cls, gib: int, mib_per_second: int, iops: int | None = None) -> Self:
        """Return a volume, by default with the IOPS that its throughput needs."""
        needed = max(FREE_IOPS, IOPS_PER_MIB * mib_per_second)
        return cls(gib=gib, iops=iops or needed, mib_per_second=mib_per_second)

    def __str__(self) -> str:
        return f"volume of {self.gib} GiB with {self.iops} IOPS and {self.mib_per_second} MiB/s"

    @property
    def price(self) -> Price:
        """Storage, and the IOPS and throughput above those that every volume has."""
        parts = (
            VOLUME.by_the_hour(self.gib),
            VOLUME_IOPS.by_the_hour(max(0, self.iops - FREE_IOPS)),
            VOLUME_THROUGHPUT.by_the_hour(max(0, self.mib_per_second - FREE_MIB_PER_SECOND)),
        )
        return replace(parts[0], usd_per_hour=sum(part.usd_per_hour for part in parts))


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreStorage:
    """A file system of FSx for Lustre, which costs by its size and its throughput class.

    Attributes:
        gib: Its size in GiB.
        deployment_type: FSx's word, such as `PERSISTENT_2`.
        mbps_per_tib: Its throughput class in MB/s per TiB; None where FSx states none.
    """

    gib: int
    deployment_type: str
    mbps_per_tib: int | None

    @classmethod
    def described(cls, gib: int, deployment_type: str, mbps_per_tib: int | None) -> Self:
        """Return a file system as FSx describes it: it states no class where the type has one."""
        classes = LUSTRE_THROUGHPUTS.get(deployment_type, ())
        only = classes[0] if len(classes) == 1 else None
        return cls(gib=gib, deployment_type=deployment_type, mbps_per_tib=mbps_per_tib or only)

    def __str__(self) -> str:
        speed = "" if self.mbps_per_tib is None else f" at {self.mbps_per_tib} MB/s per TiB"
        return f"Lustre {self.deployment_type} of {self.gib} GiB{speed}"

    @property
    def price(self) -> Price | None:
        """Its storage; None where the catalog has no price of the class."""
        price = None if self.mbps_per_tib is None else LUSTRE.get((self.deployment_type, self.mbps_per_tib))
        return price.by_the_hour(self.gib) if price else None
