"""Published bandwidths of NCCL's all-reduce on EC2, by message size, and within a node; none was measured here."""

from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["EFA_PAIRS", "NVLINK_GIGABYTES", "WITHIN_NODE_BUS_GIGABYTES", "BandwidthPoint"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BandwidthPoint:
    """One line of nccl-tests' `all_reduce_perf` with two nodes of 8 GPUs.

    Attributes:
        instance_type: EC2's name.
        message_bytes: Size of the message.
        bus_gigabytes: `busbw`, the better of out of place and in place, in GB/s (10^9 bytes).
        source: URL.
    """

    instance_type: str
    message_bytes: int
    bus_gigabytes: float
    source: str


_MIB = 2**20
#: Read 2026-11-23 at commit 0b55ba5f; nothing there names the versions of these two runs.
_README = "https://github.com/awslabs/awsome-distributed-ai/blob/main/micro-benchmarks/nccl-tests/README.md"


def _pair(instance_type: str, by_mib: dict[int, float]) -> tuple[BandwidthPoint, ...]:
    return tuple(
        BandwidthPoint(instance_type=instance_type, message_bytes=mib * _MIB, bus_gigabytes=value, source=_README)
        for mib, value in by_mib.items()
    )


#: Two nodes over EFA: every line of both runs from 16 MiB on; smaller messages NCCL sends with other protocols.
EFA_PAIRS = (
    *_pair(
        "p4de.24xlarge",
        {16: 26.42, 32: 40.85, 64: 47.58, 128: 64.31, 256: 69.89, 512: 74.30, 1024: 76.86, 2048: 78.33},
    ),
    *_pair(
        "p5.48xlarge",
        {
            16: 105.52,
            32: 150.62,
            64: 209.19,
            128: 289.16,
            256: 346.46,
            512: 394.0,
            1024: 440.96,
            2048: 443.72,
            4096: 465.87,
            8192: 479.28,
            16384: 487.26,
        },
    ),
)

#: Bandwidth of a GPU's NVLinks in one direction, in GB/s: half of both directions' 300, 600 and 900 GB/s
#: (https://alpha-one-index.github.io/ai-infra-index/specs/networking-interconnects.html, read 2026-11-23).
NVLINK_GIGABYTES = MappingProxyType({"V100": 150.0, "A100": 300.0, "H100": 450.0})

#: `busbw` within one node of 8 GPUs in GB/s, by GPU. A100: a p4d, 1 GiB (https://github.com/NVIDIA/nccl/issues/527);
#: H100: a p5, 2 GiB, where the switches add too, so that it is above what the links carry
#: (https://github.com/aws-samples/aws-do-eks). For the V100 no result with its message size was found.
WITHIN_NODE_BUS_GIGABYTES = MappingProxyType({"A100": 230.8, "H100": 468.0})
