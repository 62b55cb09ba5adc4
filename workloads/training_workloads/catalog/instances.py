"""The instance catalog: what an EC2 instance type has, stated once, with its source.

To check a row against AWS: `aws ec2 describe-instance-types --instance-types p4d.24xlarge`.
"""

from training_workloads.catalog._rows import row, us_east_1
from training_workloads.catalog.g_family import G_FAMILY
from training_workloads.catalog.instance_type import InstanceType
from training_workloads.catalog.p_family import P_FAMILY
from training_workloads.errors import InputError, unknown_name

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


def gpu_instance_type(name: str) -> InstanceType:
    """Looks a type with GPUs up by EC2's name.

    Args:
        name: Such as `p4d.24xlarge`.

    Raises:
        InputError: The catalog has no such type, or the type has no GPU; the message gives the closest names.
    """
    with_gpus = [one.name for one in INSTANCE_TYPES.values() if one.gpus]
    if name in INSTANCE_TYPES and name not in with_gpus:
        raise InputError(f"'instance_type' is {name!r}, which has no GPU; choose one of {', '.join(with_gpus)}")
    if name not in INSTANCE_TYPES:
        raise unknown_name("instance_type", name, with_gpus)
    return INSTANCE_TYPES[name]
