"""Which updates of an AWS::EKS::Nodegroup CloudFormation rejects, in plain Python: the unit tests ask it too."""

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["REPLACING", "STATUS_TAG", "changed", "rejection", "rejection_of_state"]

#: A tag of a node group with which a test gives it a state.
STATUS_TAG = "emulated-status"

#: Properties whose change makes a new node group
#: (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-nodegroup.html).
REPLACING = {
    "AmiType",
    "CapacityType",
    "ClusterName",
    "DiskSize",
    "InstanceTypes",
    "NodeRole",
    "NodegroupName",
    "RemoteAccess",
    "Subnets",
}

# Those of UpdateNodegroupVersion; all others are changed by UpdateNodegroupConfig and TagResource.
_OF_THE_NODES = {"LaunchTemplate", "ReleaseVersion", "Version"}

# A parameter of the call, which changes nothing by itself.
_FORCE = "ForceUpdateEnabled"


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Return the names of the properties that differ."""
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def rejection(properties: Collection[str]) -> str | None:
    """Return CloudFormation's message for a change of these properties; None if it accepts it.

    https://github.com/aws/aws-cdk/issues/16644
    """
    found = set(properties) - {_FORCE}
    if found & REPLACING or not found & _OF_THE_NODES or not found - _OF_THE_NODES:
        return None
    return "Version and ReleaseVersion updates cannot be combined with other updates"


def rejection_of_state(properties: Collection[str], status: str, capacity_type: str | None, desired: int) -> str | None:
    """Return EKS's message for a change of a node group in its state; None if it accepts it.

    https://github.com/aws/containers-roadmap/issues/2204 and .../2326. That a Capacity Block has no room for the node
    that EKS starts before it drains one is derived.
    """
    found = set(properties) - {_FORCE}
    if found & REPLACING:
        return None
    if status != "ACTIVE":
        return f"Nodegroup cannot be updated as it is currently not in Active state: {status}"
    if capacity_type == "CAPACITY_BLOCK" and desired and found & _OF_THE_NODES:
        return f"Nodegroup of a Capacity Block cannot be updated while it has {desired} nodes"
    return None
