"""The facts of one EC2 instance type."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from training_workloads.catalog.gpus import Gpu

__all__ = ["CHECKED", "TYPES", "BusBandwidth", "InstanceType", "NetworkInterface", "Price", "Retirement", "us_east_1"]

CHECKED = date(2026, 11, 21)

#: Generated from DescribeInstanceTypes.
TYPES = (
    "https://github.com/aws/karpenter-provider-aws/blob/0c5e7d8112409aff07b0f17a0f51c87bdba52ed1/"
    "website/content/en/docs/reference/instance-types.md"
)

# Generated from AWS's price list, on the date in its first lines.
_PRICES = (
    "https://github.com/aws/karpenter-provider-aws/blob/265ee0ba5b8e337dec6b82dde965b03021ccb418/"
    "pkg/providers/pricing/zz_generated.pricing_aws.go"
)

_NOT_PUBLISHED = {
    "all_reduce_bandwidth": "neither AWS nor NVIDIA publishes a result with its message size",
    "sockets": "AWS publishes no number of sockets, and the model of the processor was not read",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """An On-Demand price for Linux on one day.

    Attributes:
        usd_per_hour: Dollars for one instance and hour, without tax.
        region: AWS region of the price.
        source: URL of the source.
        checked: The day on which AWS's price list showed it.
    """

    usd_per_hour: float
    region: str
    source: str
    checked: date


def us_east_1(usd_per_hour: float) -> Price:
    """Return a price of the list from which the catalog was filled."""
    return Price(usd_per_hour=usd_per_hour, region="us-east-1", source=_PRICES, checked=date(2026, 2, 9))


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkInterface:
    """One network interface that a launch template requests to use the whole network of a type.

    Attributes:
        network_card: Index of the physical card.
        device: Device index on that card; the instance's primary interface is card 0, device 0.
        kind: `interface` is a plain ENA interface, `efa` an ENA with an EFA device, `efa-only` an EFA device
            without an IP address. `efa-only` cannot be the primary interface
            (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html).
    """

    network_card: int
    device: int
    kind: Literal["interface", "efa", "efa-only"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BusBandwidth:
    """A published result of nccl-tests' `all_reduce_perf` to compare a cluster with.

    Attributes:
        gigabytes_per_second: Bus bandwidth (`busbw`) in GB/s, 10^9 bytes.
        message_gib: Size of the message in GiB.
        nodes: Number of instances, each with all its GPUs.
        source: URL of the publication.
        checked: Date on which it was read.
    """

    gigabytes_per_second: float
    message_gib: int
    nodes: int
    source: str
    checked: date


@dataclass(frozen=True, kw_only=True, slots=True)
class Retirement:
    """The end of a type, which EC2 no longer describes in any region.

    Attributes:
        on: The day by which AWS asked its users to migrate.
        source: URL of a page that quotes AWS, or that shows that EC2 no longer has the type.
        successors: Types to choose in its place, the most similar one first.
    """

    on: date
    source: str
    successors: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class InstanceType:
    """The hardware, network and price of one EC2 instance type.

    Attributes:
        name: EC2's name, such as `p4d.24xlarge`.
        gpu: The GPU model; None for a type without GPUs.
        gpus: Number of GPUs.
        vcpus: Hardware threads.
        threads_per_core: Hardware threads of a core.
        sockets: CPU sockets, each with its own memory and PCIe lanes.
        memory_gib: Main memory in GiB.
        network_gbps: Network bandwidth as AWS states it, in Gb/s, of all cards together.
        network_bursts: Whether AWS writes "up to" before the bandwidth: a burst above a lower baseline.
        efa_cards: The network cards with EFA; empty for a type without.
        local_nvme_gb: Instance store in GB, all disks together; 0 for a type without one.
        local_nvme_disks: Number of its disks. A node has one RAID 0 array of them: as fast as all together, and lost
            with the first one that fails.
        placement_group: Whether EC2 launches it in a cluster placement group
            (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html).
        capacity_block: Whether EC2 sells Capacity Blocks for ML of this type.
        all_reduce_bandwidth: Bus bandwidth of NCCL's all-reduce between two or more instances.
        price: On-Demand price.
        no_price: The reason for a missing price.
        source: URL of the numbers that carry no source.
        checked: Date on which they were read.
        retired: The end of the type; None while EC2 offers it somewhere (`offers.py` says where).
    """

    name: str
    gpu: Gpu | None
    gpus: int
    vcpus: int
    threads_per_core: int = 2
    sockets: int | None
    memory_gib: int
    network_gbps: float
    network_bursts: bool = False
    efa_cards: range = range(0)
    local_nvme_gb: int = 0
    local_nvme_disks: int = 0
    placement_group: bool = True
    capacity_block: bool = False
    all_reduce_bandwidth: BusBandwidth | None = None
    price: Price | None = None
    no_price: str = "AWS's price list for us-east-1 had no On-Demand price on 2026-02-09; it is sold in Capacity Blocks"
    source: str = TYPES
    checked: date = CHECKED
    retired: Retirement | None = None

    @property
    def cores(self) -> int:
        """Physical cores."""
        return self.vcpus // self.threads_per_core

    @property
    def network_interfaces(self) -> tuple[NetworkInterface, ...]:
        """The interfaces of a node's launch template: one of ENA with an IP address, and one of EFA on each EFA card.

        This is the layout that AWS recommends
        (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html, read 2026-11-21); docs/adr/0003
        says why. On card 0 the EFA device takes device index 1, beside the primary interface, which is the first here.
        """
        primary = NetworkInterface(network_card=0, device=0, kind="interface")
        efa = (NetworkInterface(network_card=card, device=int(card == 0), kind="efa-only") for card in self.efa_cards)
        return (primary, *efa)

    @property
    def efa_interfaces(self) -> int:
        """Number of EFA devices that a node of this type offers to its pods."""
        return len(self.efa_cards)

    @property
    def ip_interfaces(self) -> int:
        """Number of interfaces of a node that take an IP address of its subnet."""
        return sum(interface.kind != "efa-only" for interface in self.network_interfaces)

    @property
    def unknown(self) -> dict[str, str]:
        """The reason for each number that is None because it is not published."""
        reasons = {**_NOT_PUBLISHED, "price": self.no_price}
        return {name: reason for name, reason in reasons.items() if getattr(self, name) is None}
