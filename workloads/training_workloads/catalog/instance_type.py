"""What the catalog says of one EC2 instance type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from training_workloads.catalog.gpus import Gpu
from training_workloads.catalog.layouts import NetworkInterface

__all__ = ["BusBandwidth", "InstanceType", "Price"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BusBandwidth:
    """A published result of nccl-tests' `all_reduce_perf`, to compare a cluster with.

    Attributes:
        gigabytes_per_second: Bus bandwidth (`busbw`) in GB/s, 10^9 bytes.
        message_gib: Size of the message in GiB.
        nodes: How many instances took part, all their GPUs each.
        source: Where it was published.
        checked: When it was read.
    """

    gigabytes_per_second: float
    message_gib: int
    nodes: int
    source: str
    checked: date


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """An On-Demand price for Linux, as it was on one day.

    Attributes:
        usd_per_hour: Dollars for one instance and hour, without tax.
        region: AWS region of the price.
        source: Where it was read.
        checked: The day on which AWS's price list showed it.
    """

    usd_per_hour: float
    region: str
    source: str
    checked: date


@dataclass(frozen=True, kw_only=True, slots=True)
class InstanceType:
    """What one EC2 instance type has.

    Attributes:
        name: EC2's name, such as `p4d.24xlarge`.
        gpu: Its GPU model; None where it has no GPU.
        gpus: How many GPUs.
        vcpus: Hardware threads.
        cores: Physical cores.
        sockets: CPU sockets, each with its own memory and PCIe lanes.
        memory_gib: Main memory in GiB.
        network_gbps: The network bandwidth that AWS names, in Gb/s, all cards together.
        network_bursts: Whether AWS writes "up to" before it: a burst, after which a lower baseline holds.
        network_interfaces: What a node's launch template asks for, primary first (docs/adr/0003).
        local_nvme_gb: Instance store in GB, all disks together, 0 where there is none.
        placement_group: Whether it can be launched in a cluster placement group.
        capacity_block: Whether EC2 sells Capacity Blocks for ML of it.
        all_reduce_bandwidth: What two or more of them reach in NCCL's all-reduce.
        price: What one costs On-Demand.
        source: Where the numbers without a source of their own were read.
        checked: When they were read.
        unknown: For each field that nobody publishes, and that is None for it, the reason.
    """

    name: str
    gpu: Gpu | None
    gpus: int
    vcpus: int
    cores: int
    sockets: int | None
    memory_gib: int
    network_gbps: float
    network_bursts: bool = False
    network_interfaces: tuple[NetworkInterface, ...]
    local_nvme_gb: int
    placement_group: bool
    capacity_block: bool
    all_reduce_bandwidth: BusBandwidth | None
    price: Price | None
    source: str
    checked: date
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def efa_interfaces(self) -> int:
        """How many EFA devices a node of this type offers to its pods."""
        return sum(interface.kind != "interface" for interface in self.network_interfaces)

    @property
    def ip_interfaces(self) -> int:
        """How many interfaces of a node take an IP address of its subnet."""
        return sum(interface.kind != "efa-only" for interface in self.network_interfaces)
