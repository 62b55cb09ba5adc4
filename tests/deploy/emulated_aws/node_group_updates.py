"""Which updates of an AWS::EKS::Nodegroup CloudFormation rejects, in plain Python: the unit tests ask it too."""

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["REPLACING", "changed", "rejection"]

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
