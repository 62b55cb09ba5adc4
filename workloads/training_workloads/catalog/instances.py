"""The instance catalog: what an EC2 instance type has, stated once, with its source.

Numbers were read from the EC2 user guide's tables on the date that each row carries. To check a row against AWS:
`aws ec2 describe-instance-types --instance-types p4d.24xlarge`.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from training_workloads.errors import InputError, unknown_name

__all__ = ["INSTANCE_TYPES", "Gpu", "InstanceType", "NetworkInterface", "gpu_instance_type"]

_ACCELERATED = "https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html"
_GENERAL_PURPOSE = "https://docs.aws.amazon.com/ec2/latest/instancetypes/gp.html"
_CHECKED = date(2026, 11, 21)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """One GPU of an instance type.

    Attributes:
        model: NVIDIA's name of it.
        memory_gib: Device memory in GiB.
    """

    model: str
    memory_gib: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkInterface:
    """One network interface that a launch template must ask for to use the whole network of a type.

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
class InstanceType:
    """What one EC2 instance type has.

    Attributes:
        name: EC2's name, such as `p4d.24xlarge`.
        gpu: Its GPU model; None where it has no GPU.
        gpus: How many GPUs.
        vcpus: Hardware threads.
        cores: Physical cores.
        sockets: CPU sockets.
        memory_gib: Main memory in GiB.
        network_gbps: Network bandwidth in Gb/s, all cards together.
        network_interfaces: Every interface of the full-bandwidth layout, primary first.
        local_nvme_gb: Instance store in GB, 0 where there is none.
        placement_group: Whether it can be launched in a cluster placement group.
        source: Where the numbers were read.
        checked: When they were read.
    """

    name: str
    gpu: Gpu | None
    gpus: int
    vcpus: int
    cores: int
    sockets: int
    memory_gib: int
    network_gbps: int
    network_interfaces: tuple[NetworkInterface, ...]
    local_nvme_gb: int
    placement_group: bool
    source: str
    checked: date

    @property
    def efa_interfaces(self) -> int:
        """How many EFA devices a node of this type offers to its pods."""
        return sum(interface.kind != "interface" for interface in self.network_interfaces)


_ONE_ENA = (NetworkInterface(network_card=0, device=0, kind="interface"),)


def _efa_on_every_card(cards: int) -> tuple[NetworkInterface, ...]:
    """One IP address on the primary interface, and EFA without an address on the other cards (device index 1)."""
    others = (NetworkInterface(network_card=card, device=1, kind="efa-only") for card in range(1, cards))
    return (NetworkInterface(network_card=0, device=0, kind="efa"), *others)


_ROWS = (
    InstanceType(
        name="m5.xlarge",
        gpu=None,
        gpus=0,
        vcpus=4,
        cores=2,
        sockets=1,
        memory_gib=16,
        network_gbps=10,
        network_interfaces=_ONE_ENA,
        local_nvme_gb=0,
        placement_group=True,
        source=_GENERAL_PURPOSE,
        checked=_CHECKED,
    ),
    InstanceType(
        name="p3.16xlarge",
        gpu=Gpu(model="V100", memory_gib=16),
        gpus=8,
        vcpus=64,
        cores=32,
        sockets=2,
        memory_gib=488,
        network_gbps=25,
        network_interfaces=_ONE_ENA,
        local_nvme_gb=0,
        placement_group=True,
        source=_ACCELERATED,
        checked=_CHECKED,
    ),
    InstanceType(
        name="p4d.24xlarge",
        gpu=Gpu(model="A100", memory_gib=40),
        gpus=8,
        vcpus=96,
        cores=48,
        sockets=2,
        memory_gib=1152,
        network_gbps=400,
        network_interfaces=_efa_on_every_card(4),
        local_nvme_gb=8000,
        placement_group=True,
        source=_ACCELERATED,
        checked=_CHECKED,
    ),
)

INSTANCE_TYPES: dict[str, InstanceType] = {row.name: row for row in _ROWS}


def gpu_instance_type(name: str) -> InstanceType:
    """Looks a type with GPUs up by EC2's name.

    Args:
        name: Such as `p4d.24xlarge`.

    Raises:
        InputError: The catalog has no such type, or the type has no GPU; the message gives the closest names.
    """
    with_gpus = [row.name for row in INSTANCE_TYPES.values() if row.gpus]
    if name in INSTANCE_TYPES and name not in with_gpus:
        raise InputError(f"'instance_type' is {name!r}, which has no GPU; choose one of {', '.join(with_gpus)}")
    if name not in INSTANCE_TYPES:
        raise unknown_name("instance_type", name, with_gpus)
    return INSTANCE_TYPES[name]
