"""The G family: smaller GPUs for inference, development and small training runs.

Sockets: AWS does not publish them; they are the cores divided by the cores of one CPU of the type's model (Xeon
8259CL 24 on G4dn, EPYC 7R32 48 on G5, EPYC 7R13 48 on G6 and G6e), rounded up. EC2 sells no Capacity Blocks for ML
of this family (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html).
"""

from collections.abc import Mapping
from typing import NamedTuple

from training_workloads.catalog._rows import row, us_east_1
from training_workloads.catalog.gpus import A10G, L4, L40S, T4, Gpu
from training_workloads.catalog.instance_type import InstanceType

__all__ = ["G_FAMILY"]


class _Size(NamedTuple):
    """The numbers of one size; the names are short so that a size is one line.

    Attributes:
        gpus: GPUs.
        vcpus: Hardware threads.
        sockets: CPU sockets.
        memory_gib: Main memory in GiB.
        gbps: Network bandwidth in Gb/s.
        nvme_gb: Instance store in GB.
        usd: Dollars per hour.
        up_to: Whether AWS writes "up to" before the bandwidth.
        efa: Network cards with EFA, from card 0 on.
    """

    gpus: int
    vcpus: int
    sockets: int
    memory_gib: int
    gbps: int
    nvme_gb: int
    usd: float
    up_to: bool = False
    efa: int = 0


def _family(family: str, gpu: Gpu, sizes: Mapping[str, _Size]) -> tuple[InstanceType, ...]:
    return tuple(
        row(
            f"{family}.{name}",
            gpu=gpu,
            gpus=size.gpus,
            vcpus=size.vcpus,
            sockets=size.sockets,
            memory_gib=size.memory_gib,
            network_gbps=size.gbps,
            network_bursts=size.up_to,
            efa_cards=range(size.efa),
            local_nvme_gb=size.nvme_gb,
            price=us_east_1(size.usd),
        )
        for name, size in sizes.items()
    )


_G4DN = _family(
    "g4dn",
    T4,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=16, gbps=25, up_to=True, nvme_gb=125, usd=0.526),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=32, gbps=25, up_to=True, nvme_gb=225, usd=0.752),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=64, gbps=25, up_to=True, nvme_gb=225, usd=1.204),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=128, gbps=50, efa=1, nvme_gb=900, usd=2.176),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=192, gbps=50, efa=1, nvme_gb=900, usd=3.912),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=2, memory_gib=256, gbps=50, efa=1, nvme_gb=900, usd=4.352),
        "metal": _Size(gpus=8, vcpus=96, sockets=2, memory_gib=384, gbps=100, efa=1, nvme_gb=1800, usd=7.824),
    },
)

_G5 = _family(
    "g5",
    A10G,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=16, gbps=10, up_to=True, nvme_gb=250, usd=1.006),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=32, gbps=10, up_to=True, nvme_gb=450, usd=1.212),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=64, gbps=25, up_to=True, nvme_gb=600, usd=1.624),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=128, gbps=25, efa=1, nvme_gb=900, usd=2.448),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=192, gbps=40, efa=1, nvme_gb=3800, usd=5.672),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=1, memory_gib=256, gbps=25, efa=1, nvme_gb=1900, usd=4.096),
        "24xlarge": _Size(gpus=4, vcpus=96, sockets=1, memory_gib=384, gbps=50, efa=1, nvme_gb=3800, usd=8.144),
        "48xlarge": _Size(gpus=8, vcpus=192, sockets=2, memory_gib=768, gbps=100, efa=1, nvme_gb=7600, usd=16.288),
    },
)

_G6 = _family(
    "g6",
    L4,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=16, gbps=10, up_to=True, nvme_gb=250, usd=0.8048),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=32, gbps=10, up_to=True, nvme_gb=450, usd=0.9776),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=64, gbps=25, up_to=True, nvme_gb=600, usd=1.3232),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=128, gbps=25, efa=1, nvme_gb=900, usd=2.0144),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=192, gbps=40, efa=1, nvme_gb=3760, usd=4.6016),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=1, memory_gib=256, gbps=25, efa=1, nvme_gb=1880, usd=3.3968),
        "24xlarge": _Size(gpus=4, vcpus=96, sockets=1, memory_gib=384, gbps=50, efa=1, nvme_gb=3760, usd=6.6752),
        "48xlarge": _Size(gpus=8, vcpus=192, sockets=2, memory_gib=768, gbps=100, efa=1, nvme_gb=7520, usd=13.3504),
    },
)

_G6E = _family(
    "g6e",
    L40S,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=32, gbps=20, up_to=True, nvme_gb=250, usd=1.861),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=64, gbps=20, up_to=True, nvme_gb=450, usd=2.24208),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=128, gbps=20, nvme_gb=600, usd=3.00424),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=256, gbps=25, efa=1, nvme_gb=900, usd=4.52856),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=384, gbps=100, efa=1, nvme_gb=3800, usd=10.49264),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=1, memory_gib=512, gbps=35, efa=1, nvme_gb=1900, usd=7.57719),
        "24xlarge": _Size(gpus=4, vcpus=96, sockets=1, memory_gib=768, gbps=200, efa=2, nvme_gb=3800, usd=15.06559),
        "48xlarge": _Size(gpus=8, vcpus=192, sockets=2, memory_gib=1536, gbps=400, efa=4, nvme_gb=7600, usd=30.13118),
    },
)

G_FAMILY = (*_G4DN, *_G5, *_G6, *_G6E)
