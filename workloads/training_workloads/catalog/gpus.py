"""GPU models: memory, clocks and supported drivers, each stated once with its source.

To check a model: `nvidia-smi -q -d SUPPORTED_CLOCKS` on a node shows its clocks,
`aws ec2 describe-instance-types --query 'InstanceTypes[].GpuInfo'` its memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

__all__ = [
    "A10G",
    "A100_40",
    "A100_80",
    "B200",
    "B300",
    "H100",
    "H200",
    "L4",
    "L40S",
    "RTX_PRO_4500",
    "RTX_PRO_6000",
    "T4",
    "V100_16",
    "V100_32",
    "Clocks",
    "Gpu",
]

_CHECKED = date(2026, 11, 21)
#: The clocks that AWS recommends for each instance family.
_CLOCKS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/optimize_gpu.html"
_CAPABILITIES = "https://developer.nvidia.com/cuda-gpus"
#: V100 is on another page, since CUDA 13 no longer supports it.
_LEGACY_CAPABILITIES = "https://developer.nvidia.com/cuda-legacy-gpus"
#: The last driver branch of each architecture; "ongoing" where no end is announced.
_ARCHITECTURES = "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html"
#: The boot scripts of the EKS AMI: the clocks that they set, and the devices that each driver branch supports.
_EKS_AMI = "https://github.com/awslabs/amazon-eks-ami/tree/main/templates/al2023/runtime/gpu"
_FIRST_BRANCH = "NVIDIA states the first branch for an architecture, not for a model; every branch on EKS is newer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """The argument of `nvidia-smi -ac MEMORY,GRAPHICS`.

    Attributes:
        memory_mhz: Memory clock in MHz.
        graphics_mhz: Graphics (SM) clock in MHz.
    """

    memory_mhz: int
    graphics_mhz: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """One GPU model as EC2 offers it.

    Attributes:
        model: NVIDIA's name.
        compute_capability: Major and minor number of the architecture, such as (9, 0), for which kernels are compiled.
        memory_gib: Device memory in whole GiB, as EC2's API reports it, rounded down.
        application_clocks: The highest application clocks; at these clocks a job runs at a steady speed.
        oldest_driver_branch: First NVIDIA driver branch that supports the model, such as 570.
        newest_driver_branch: Last branch that supports the model; None while NVIDIA has announced no end.
        sources: URLs of the compute capability, of the clocks and of the driver branches.
        checked: Date on which they were read.
        unknown: For each field that is None because no number is published, the reason.
    """

    model: str
    compute_capability: tuple[int, int]
    memory_gib: int
    application_clocks: Clocks | None
    oldest_driver_branch: int | None
    newest_driver_branch: int | None = None
    sources: tuple[str, ...] = (_CAPABILITIES, _CLOCKS, _ARCHITECTURES)
    checked: date = _CHECKED
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)


def _before_blackwell(model: str, capability: tuple[int, int], memory_gib: int, clocks: Clocks) -> Gpu:
    return Gpu(
        model=model,
        compute_capability=capability,
        memory_gib=memory_gib,
        application_clocks=clocks,
        oldest_driver_branch=None,
        unknown={"oldest_driver_branch": _FIRST_BRANCH},
    )


#: NVIDIA's branch 580 is the last that supports Volta.
V100_16 = replace(
    _before_blackwell("V100", (7, 0), 16, Clocks(memory_mhz=877, graphics_mhz=1530)),
    newest_driver_branch=580,
    sources=(_LEGACY_CAPABILITIES, _CLOCKS, _ARCHITECTURES),
)
V100_32 = replace(V100_16, memory_gib=32)
T4 = _before_blackwell("T4", (7, 5), 16, Clocks(memory_mhz=5001, graphics_mhz=1590))
#: The EC2 guide says 6250,1710; the EKS AMI, which these nodes run, sets 6251,1695 (set-nvidia-clocks.sh).
#: NVIDIA's page has the A10, which has the same chip (GA102).
A10G = replace(
    _before_blackwell("A10G", (8, 6), 22, Clocks(memory_mhz=6251, graphics_mhz=1695)),
    sources=(_CAPABILITIES, _EKS_AMI, _ARCHITECTURES),
)
A100_40 = _before_blackwell("A100", (8, 0), 40, Clocks(memory_mhz=1215, graphics_mhz=1410))
#: The memory of the 80 GiB model is faster than that of the 40 GiB one.
A100_80 = _before_blackwell("A100", (8, 0), 80, Clocks(memory_mhz=1593, graphics_mhz=1410))
L4 = _before_blackwell("L4", (8, 9), 22, Clocks(memory_mhz=6251, graphics_mhz=2040))
L40S = _before_blackwell("L40S", (8, 9), 44, Clocks(memory_mhz=9001, graphics_mhz=2520))
H100 = _before_blackwell("H100", (9, 0), 80, Clocks(memory_mhz=2619, graphics_mhz=1980))
H200 = _before_blackwell("H200", (9, 0), 141, Clocks(memory_mhz=3201, graphics_mhz=1980))
B200 = Gpu(
    model="B200",
    compute_capability=(10, 0),
    memory_gib=179,
    application_clocks=Clocks(memory_mhz=3996, graphics_mhz=1965),
    oldest_driver_branch=570,
    sources=(_CAPABILITIES, _CLOCKS, _EKS_AMI),
)
#: On the list of branch 580 but not on that of 575.
B300 = Gpu(
    model="B300",
    compute_capability=(10, 3),
    memory_gib=268,
    application_clocks=Clocks(memory_mhz=3996, graphics_mhz=2032),
    oldest_driver_branch=580,
    sources=(_CAPABILITIES, _CLOCKS, _EKS_AMI),
)

_NO_CLOCKS = "AWS's page recommends no clocks for this model, and the EKS AMI sets none that was read"

#: EC2 names NVIDIA's RTX PRO 6000 Blackwell Server Edition so.
RTX_PRO_6000 = Gpu(
    model="RTX PRO Server 6000",
    compute_capability=(12, 0),
    memory_gib=96,
    application_clocks=None,
    oldest_driver_branch=None,
    unknown={"application_clocks": _NO_CLOCKS, "oldest_driver_branch": _FIRST_BRANCH},
)
#: EC2's name of the RTX PRO 4500 Blackwell Server Edition. An EKS node with branch 580 and a g7.12xlarge listed no GPU;
#: with 595 it listed both (a deployment of September 2026, recorded in the compatibility matrix of public EKS
#: templates for GPU and EFA nodes, read 2026-11-23).
RTX_PRO_4500 = Gpu(
    model="RTX PRO 4500",
    compute_capability=(12, 0),
    memory_gib=32,
    application_clocks=None,
    oldest_driver_branch=595,
    unknown={"application_clocks": _NO_CLOCKS},
)
