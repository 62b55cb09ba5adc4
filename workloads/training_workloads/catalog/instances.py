"""The instance catalog: the facts of every supported EC2 instance type, each stated once with its source.

To check a row: `aws ec2 describe-instance-types --instance-types p4d.24xlarge`. `setup/record_instance_types.py`
records the result for all types, and a test compares the catalog with the recording. A type that AWS has retired stays,
with a warning (`offers.py`): articles of its time name it. No message suggests it.
"""

from typing import Any

from training_workloads.catalog.g_family import G_FAMILY
from training_workloads.catalog.instance_type import InstanceType, us_east_1
from training_workloads.catalog.p_family import P_FAMILY
from training_workloads.validation import Problem, Problems, enforce, matches, unknown

__all__ = ["INSTANCE_TYPES", "RETIRED_FAMILIES", "gpu_instance_type", "supported_gpu_type"]

#: Nodes of the operator, the launchers and the cluster's services.
_WITHOUT_GPU = (
    InstanceType(
        name="m5.xlarge",
        gpu=None,
        gpus=0,
        vcpus=4,
        sockets=1,
        memory_gib=16,
        network_gbps=10,
        network_bursts=True,
        price=us_east_1(0.192),
    ),
)

#: Every instance type of the catalog, by EC2's name.
INSTANCE_TYPES: dict[str, InstanceType] = {one.name: one for one in (*P_FAMILY, *G_FAMILY, *_WITHOUT_GPU)}


#: EC2 states 0 GPUs and a part of an L4's memory (DescribeInstanceTypes: GpuPartitionSize 0.125 to 0.5).
_FRACTION = (
    "it has a fraction of an L4, a vGPU that EC2 counts as 0 GPUs: this library gives jobs whole GPUs, and the "
    "autoscaler would never start such a node for them (g6 and gr6 have a whole L4)"
)

#: Families without a row in the catalog that AWS has retired, with the source: manifests of their time name them.
RETIRED_FAMILIES = {
    "g3": "https://github.com/SummitRoute/aws_breaking_changes/issues/114",
    "g3s": "https://github.com/SummitRoute/aws_breaking_changes/issues/114",
    "p2": "https://github.com/eksctl-io/eksctl/pull/7826",
}

#: Why other types with accelerators are not in the catalog, by the start of their names
#: (https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, read 2026-11-21).
_NOT_SUPPORTED = {
    "dl": "it has Gaudi or Qualcomm accelerators instead of NVIDIA GPUs, which are not supported",
    "g4ad": "it has AMD GPUs, which are not supported",
    "g5g": "it has Arm processors, which are not supported",
    "g6f": _FRACTION,
    "gr6f": _FRACTION,
    "inf": "it has AWS Inferentia chips instead of GPUs, which are not supported",
    "p3.": "AWS has retired P3, p3dn.24xlarge excepted",
    "p6e": "it has Arm processors, which are not supported",
    "trn": "it has AWS Trainium chips instead of GPUs, which are not supported",
    **{f"{family}.": "AWS has retired it" for family in RETIRED_FAMILIES},
}

_WITH_GPUS = [one.name for one in INSTANCE_TYPES.values() if one.gpus]
_SUGGESTED = [name for name in _WITH_GPUS if not INSTANCE_TYPES[name].retired]


def gpu_instance_type(name: str) -> InstanceType:
    """Return the facts of a type with GPUs by EC2's name, such as `p4d.24xlarge`.

    Raises:
        InputError: The catalog has no such type, or the type has no GPU; the message gives the closest names.
    """
    enforce(name, [supported_gpu_type])
    return INSTANCE_TYPES[name]


def supported_gpu_type(name: Any) -> Problems:
    """Reject a name that is not that of a type with GPUs in the catalog."""
    if name in _WITH_GPUS:
        return
    if not isinstance(name, str):
        yield from matches("instance_type", name, "", "EC2's name of a type, such as p4d.24xlarge")
    elif name in INSTANCE_TYPES:
        yield Problem(
            path=("instance_type",), given=name, allowed="it has no GPU", fix=f"choose one of {', '.join(_SUGGESTED)}"
        )
    elif reason := _reason_without_a_suggestion(name.strip().lower()):
        families = sorted({one.partition(".")[0] for one in _SUGGESTED})
        yield Problem(
            path=("instance_type",), given=name, allowed=reason, fix=f"choose a type of {', '.join(families)}"
        )
    else:
        yield from unknown("instance_type", name, _SUGGESTED)


def _reason_without_a_suggestion(name: str) -> str | None:
    for start, reason in _NOT_SUPPORTED.items():
        if name.startswith(start):
            return reason
    # The names of EC2 are similar: for a type of another family than P and G, a suggestion would mislead.
    return None if name.startswith(("g", "p")) else "it is not a known type with GPUs"
