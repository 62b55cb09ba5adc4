"""The release of the AMI of each node group: the deployed one, the pinned one, and the newest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import DeployedStack
from training_cluster.nodes.ami_release import newest_parameter, valid_name
from training_workloads.catalog.ami_releases import Ami
from training_workloads.catalog.nodes import NODE_GROUP_LABEL

__all__ = ["NodeRelease", "read_releases"]

_NODE_GROUP = "AWS::EKS::Nodegroup"
_AMIS: dict[str, Ami] = {"AL2023_x86_64_NVIDIA": "nvidia", "AL2023_x86_64_STANDARD": "standard"}
_SYSTEM_GROUP = "system"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRelease:
    """The release of the AMI of a node group.

    Attributes:
        group: Its name in cluster.yaml, or `system`.
        deployed: The release that EKS has for its nodes; None where there is no such group.
        pinned: The release that the template names; None where EKS chooses.
        newest: EKS's newest release for the Kubernetes release of the template; None where there is none.
        faults: The known faults of the deployed release on these nodes, with their fix.
    """

    group: str
    deployed: str | None
    pinned: str | None
    newest: str | None
    faults: tuple[str, ...] = ()


def read_releases(account: Account, stack: DeployedStack, template: Mapping[str, Any]) -> tuple[NodeRelease, ...]:
    """Return the releases of the deployed node groups that a template has.

    Args:
        account: The account.
        stack: The deployed stack.
        template: Its template, the deployed one or that of the app.

    Raises:
        RequestError: AWS rejects a request.
    """
    return tuple(_releases(account, stack, template.get("Resources", {})))


def _releases(account: Account, stack: DeployedStack, resources: Mapping[str, Any]) -> Iterator[NodeRelease]:
    newest = cache(lambda version, ami: account.parameter(newest_parameter(version, ami)))
    for each in stack.resources:
        properties = _at(resources, each.logical_id, "Properties") or {}
        ami = _AMIS.get(properties.get("AmiType", ""))
        if each.kind != _NODE_GROUP or ami is None:
            continue
        # The cluster of a node group may be of another stack.
        cluster, _, name = each.id.rpartition("/")
        names = {"clusterName": cluster or stack.cluster_name, "nodegroupName": name}
        found = account.find("eks", "describe_nodegroup", "ResourceNotFoundException", **names)
        group = found["nodegroup"] if found else {}
        version = _text(properties.get("Version")) or group.get("version")
        deployed = group.get("releaseVersion")
        problems = valid_name(deployed, ami, _instance_type(resources, properties)) if deployed else ()
        yield NodeRelease(
            group=_at(properties, "Labels", NODE_GROUP_LABEL) or _SYSTEM_GROUP,
            deployed=deployed,
            pinned=_text(properties.get("ReleaseVersion")),
            newest=newest(version, ami) if version else None,
            faults=tuple(f"{problem.allowed}; {problem.fix}" for problem in problems),
        )


def _instance_type(resources: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
    template = _at(properties, "LaunchTemplate", "Id", "Ref")
    in_template = _at(resources, template, "Properties", "LaunchTemplateData", "InstanceType")
    return str(in_template or next(iter(properties.get("InstanceTypes") or ()), ""))


def _at(found: Any, *path: Any) -> Any:
    for each in path:
        found = found.get(each) if isinstance(found, Mapping) else None
    return found


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
