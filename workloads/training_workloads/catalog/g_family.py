"""The G family: smaller GPUs for inference, development and small training runs.

Sockets: AWS does not publish them; they are the cores divided by the cores of one CPU of the type's model (Xeon
8259CL 24 on G4dn, EPYC 7R32 48 on G5, EPYC 7R13 48 on G6, Gr6 and G6e), rounded up. EC2 sells no Capacity Blocks for
ML of this family (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html).

G6f and Gr6f have fractions of a GPU, which this catalog cannot hold: `instances.py` says why.
"""

from collections.abc import Mapping
from typing import NamedTuple

from training_workloads.catalog.gpus import A10G, L4, L40S, RTX_PRO_4500, RTX_PRO_6000, T4, Gpu
from training_workloads.catalog.instance_type import TYPES, InstanceType, us_east_1

__all__ = ["G_FAMILY"]

_NO_PRICE = "AWS's price list for us-east-1 of 2026-02-09 is older than the type, and no newer one was read"

#: Newer than the page that the other rows are of.
_NEW = (RTX_PRO_4500, RTX_PRO_6000)
_RECORDED = "https://github.com/getmoto/moto/blob/5.2.5/moto/ec2/resources/instance_types.json.gz"


class _Size(NamedTuple):
    """The numbers of one size; the names are short so that a size is one line.

    Attributes:
        gpus: GPUs.
        vcpus: Hardware threads.
        sockets: CPU sockets.
        memory_gib: Main memory in GiB.
        gbps: Network bandwidth in Gb/s.
        nvme: Disks of the instance store, and GB of each.
        usd: Dollars per hour; None where the price list has none.
        up_to: Whether AWS writes "up to" before the bandwidth.
        efa: Network cards with EFA, from card 0 on.
    """

    gpus: int
    vcpus: int
    sockets: int | None
    memory_gib: int
    gbps: int
    nvme: tuple[int, int]
    usd: float | None
    up_to: bool = False
    efa: int = 0


def _family(
    family: str, gpu: Gpu, sizes: Mapping[str, _Size], *, threads_per_core: int = 2
) -> tuple[InstanceType, ...]:
    return tuple(
        InstanceType(
            name=f"{family}.{name}",
            gpu=gpu,
            gpus=size.gpus,
            vcpus=size.vcpus,
            sockets=size.sockets,
            memory_gib=size.memory_gib,
            network_gbps=size.gbps,
            network_bursts=size.up_to,
            efa_cards=range(size.efa),
            local_nvme_gb=size.nvme[0] * size.nvme[1],
            local_nvme_disks=size.nvme[0],
            price=us_east_1(size.usd) if size.usd else None,
            no_price=_NO_PRICE,
            threads_per_core=threads_per_core,
            source=_RECORDED if gpu in _NEW else TYPES,
        )
        for name, size in sizes.items()
    )


_G4DN = _family(
    "g4dn",
    T4,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=16, gbps=25, up_to=True, nvme=(1, 125), usd=0.526),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=32, gbps=25, up_to=True, nvme=(1, 225), usd=0.752),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=64, gbps=25, up_to=True, nvme=(1, 225), usd=1.204),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=128, gbps=50, efa=1, nvme=(1, 900), usd=2.176),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=192, gbps=50, efa=1, nvme=(1, 900), usd=3.912),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=2, memory_gib=256, gbps=50, efa=1, nvme=(1, 900), usd=4.352),
        "metal": _Size(gpus=8, vcpus=96, sockets=2, memory_gib=384, gbps=100, efa=1, nvme=(2, 900), usd=7.824),
    },
)

_G5 = _family(
    "g5",
    A10G,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=16, gbps=10, up_to=True, nvme=(1, 250), usd=1.006),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=32, gbps=10, up_to=True, nvme=(1, 450), usd=1.212),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=64, gbps=25, up_to=True, nvme=(1, 600), usd=1.624),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=128, gbps=25, efa=1, nvme=(1, 900), usd=2.448),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=192, gbps=40, efa=1, nvme=(1, 3800), usd=5.672),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=1, memory_gib=256, gbps=25, efa=1, nvme=(1, 1900), usd=4.096),
        "24xlarge": _Size(gpus=4, vcpus=96, sockets=1, memory_gib=384, gbps=50, efa=1, nvme=(1, 3800), usd=8.144),
        "48xlarge": _Size(gpus=8, vcpus=192, sockets=2, memory_gib=768, gbps=100, efa=1, nvme=(2, 3800), usd=16.288),
    },
)

_G6 = _family(
    "g6",
    L4,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=16, gbps=10, up_to=True, nvme=(1, 250), usd=0.8048),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=32, gbps=10, up_to=True, nvme=(1, 450), usd=0.9776),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=64, gbps=25, up_to=True, nvme=(1, 600), usd=1.3232),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=128, gbps=25, efa=1, nvme=(2, 450), usd=2.0144),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=192, gbps=40, efa=1, nvme=(4, 940), usd=4.6016),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=1, memory_gib=256, gbps=25, efa=1, nvme=(2, 940), usd=3.3968),
        "24xlarge": _Size(gpus=4, vcpus=96, sockets=1, memory_gib=384, gbps=50, efa=1, nvme=(4, 940), usd=6.6752),
        "48xlarge": _Size(gpus=8, vcpus=192, sockets=2, memory_gib=768, gbps=100, efa=1, nvme=(8, 940), usd=13.3504),
    },
)

_G6E = _family(
    "g6e",
    L40S,
    {
        "xlarge": _Size(gpus=1, vcpus=4, sockets=1, memory_gib=32, gbps=20, up_to=True, nvme=(1, 250), usd=1.861),
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=1, memory_gib=64, gbps=20, up_to=True, nvme=(1, 450), usd=2.24208),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=128, gbps=20, nvme=(1, 600), usd=3.00424),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=256, gbps=25, efa=1, nvme=(2, 450), usd=4.52856),
        "12xlarge": _Size(gpus=4, vcpus=48, sockets=1, memory_gib=384, gbps=100, efa=1, nvme=(2, 1900), usd=10.49264),
        "16xlarge": _Size(gpus=1, vcpus=64, sockets=1, memory_gib=512, gbps=35, efa=1, nvme=(2, 950), usd=7.57719),
        "24xlarge": _Size(gpus=4, vcpus=96, sockets=1, memory_gib=768, gbps=200, efa=2, nvme=(2, 1900), usd=15.06559),
        "48xlarge": _Size(gpus=8, vcpus=192, sockets=2, memory_gib=1536, gbps=400, efa=4, nvme=(4, 1900), usd=30.13118),
    },
)

# G6 with twice the memory.
_GR6 = _family(
    "gr6",
    L4,
    {
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=1, memory_gib=128, gbps=25, up_to=True, nvme=(1, 600), usd=1.5392),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=1, memory_gib=256, gbps=25, efa=1, nvme=(2, 450), usd=2.4464),
    },
)

# The CPU has one thread per core.
_G7 = _family(
    "g7",
    RTX_PRO_4500,
    {
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=None, memory_gib=32, gbps=60, up_to=True, nvme=(1, 440), usd=None),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=None, memory_gib=64, gbps=100, up_to=True, nvme=(1, 875), usd=None),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=None, memory_gib=128, gbps=100, efa=1, nvme=(1, 930), usd=None),
        "12xlarge": _Size(gpus=2, vcpus=48, sockets=None, memory_gib=192, gbps=175, efa=1, nvme=(1, 1900), usd=None),
        "24xlarge": _Size(gpus=4, vcpus=96, sockets=None, memory_gib=384, gbps=350, efa=1, nvme=(1, 3800), usd=None),
        "48xlarge": _Size(gpus=8, vcpus=192, sockets=None, memory_gib=768, gbps=700, efa=2, nvme=(2, 3800), usd=None),
    },
    threads_per_core=1,
)

_G7E = _family(
    "g7e",
    RTX_PRO_6000,
    {
        "2xlarge": _Size(gpus=1, vcpus=8, sockets=None, memory_gib=64, gbps=50, nvme=(1, 1900), usd=3.36312),
        "4xlarge": _Size(gpus=1, vcpus=16, sockets=None, memory_gib=128, gbps=50, nvme=(1, 1900), usd=3.99816),
        "8xlarge": _Size(gpus=1, vcpus=32, sockets=None, memory_gib=256, gbps=100, efa=1, nvme=(1, 1900), usd=5.26824),
        "12xlarge": _Size(gpus=2, vcpus=48, sockets=None, memory_gib=512, gbps=400, efa=1, nvme=(1, 3800), usd=8.28608),
        "24xlarge": _Size(
            gpus=4, vcpus=96, sockets=None, memory_gib=1024, gbps=800, efa=2, nvme=(2, 3800), usd=16.57216
        ),
        "48xlarge": _Size(
            gpus=8, vcpus=192, sockets=None, memory_gib=2048, gbps=1600, efa=4, nvme=(4, 3800), usd=33.14432
        ),
    },
)

G_FAMILY = (*_G4DN, *_G5, *_G6, *_GR6, *_G6E, *_G7, *_G7E)
