"""The instance catalog: what an EC2 instance type has, stated once, with its source.

To check a row against AWS: `aws ec2 describe-instance-types --instance-types p4d.24xlarge`.
"""

from training_workloads.catalog._rows import row, us_east_1
from training_workloads.catalog.g_family import G_FAMILY
from training_workloads.catalog.instance_type import InstanceType
from training_workloads.catalog.p_family import P_FAMILY
from training_workloads.validation import InputError, check_text, unknown_name

__all__ = ["INSTANCE_TYPES", "gpu_instance_type"]

#: Nodes of the operator, the launchers and the cluster's own services.
_WITHOUT_GPU = (
    row(
        "m5.xlarge",
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

INSTANCE_TYPES: dict[str, InstanceType] = {one.name: one for one in (*P_FAMILY, *G_FAMILY, *_WITHOUT_GPU)}


#: Why types that run neural networks too are not in the catalog, by the start of their names
#: (https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, read 2026-11-21).
_NOT_SUPPORTED = {
    "dl": "Gaudi or Qualcomm accelerators instead of NVIDIA GPUs, and is not supported",
    "g4ad": "AMD GPUs, and is not supported",
    "g5g": "Arm processors, and is not supported",
    "inf": "AWS Inferentia chips instead of GPUs, and is not supported",
    "p6e": "Arm processors, and is not supported",
    "trn": "AWS Trainium chips instead of GPUs, and is not supported",
}


def gpu_instance_type(name: str) -> InstanceType:
    """Looks a type with GPUs up by EC2's name.

    Args:
        name: Such as `p4d.24xlarge`.

    Raises:
        InputError: The catalog has no such type, or the type has no GPU; the message gives the closest names.
    """
    check_text("instance_type", name, "(?s).*", "EC2's name of a type, such as p4d.24xlarge")
    with_gpus = [one.name for one in INSTANCE_TYPES.values() if one.gpus]
    if name in with_gpus:
        return INSTANCE_TYPES[name]
    if name in INSTANCE_TYPES:
        raise InputError(f"'instance_type' is {name!r}, which has no GPU; choose one of {', '.join(with_gpus)}")
    typed = name.strip().lower()
    families = ", ".join(sorted({one.partition(".")[0] for one in with_gpus}))
    for start, reason in _NOT_SUPPORTED.items():
        if typed.startswith(start):
            raise InputError(f"'instance_type' is {name!r}, which has {reason}; choose a type of {families}")
    # Names of EC2 look like each other: of what is no p or g type, nothing in the catalog is meant.
    if not typed.startswith(("g", "p")):
        raise InputError(f"'instance_type' is {name!r}, which is no known type with GPUs; choose a type of {families}")
    raise unknown_name("instance_type", name, with_gpus)
