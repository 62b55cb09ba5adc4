"""A stack as it is deployed and as it will be, in the words of cluster.yaml."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from training_cluster.account.deployed_stack import CLUSTER, FILE_SYSTEM, NODE_GROUP, SUBNET, VPC, DeployedStack
from training_cluster.changes.template_changes import (
    ResourceChange,
    Template,
    changed_values,
    template_changes,
    value_at,
)
from training_workloads.catalog import versions
from training_workloads.catalog.nodes import NODE_GROUP_LABEL
from training_workloads.manifests.values import sequence

__all__ = ["SYSTEM_GROUP", "PlannedStack", "group_name"]


_TEMPLATE = "AWS::EC2::LaunchTemplate"

#: The name of the group whose nodes have no label of a group in cluster.yaml.
SYSTEM_GROUP = "system"

# The keys that decide a property, by the type of resource and the beginning of the property's path. `{}` is the group.
_KEYS: dict[str, dict[str, str]] = {
    NODE_GROUP: {
        "ScalingConfig/MinSize": "node_groups.{}.min_size",
        "ScalingConfig/MaxSize": "node_groups.{}.max_size",
        "ScalingConfig/DesiredSize": "node_groups.{}.desired_size",
        "NodeRepairConfig": "node_groups.{}.node_repair",
        "ReleaseVersion": "node_groups.{}.ami_release",
        "Version": "kubernetes_version",
        "NodeRole": "node_role",
        "Subnets": "availability_zones",
    },
    _TEMPLATE: {
        "LaunchTemplateData/BlockDeviceMappings": "node_groups.{}.root_volume_…",
        "LaunchTemplateData/CapacityReservationSpecification": "node_groups.{}.capacity_reservation_id",
        "LaunchTemplateData/Placement": "node_groups.{}.placement_group",
        "LaunchTemplateData/UserData": "node_groups.{}.fast_image_pull",
        "LaunchTemplateData/TagSpecifications": "tags of the app",
    },
    FILE_SYSTEM: {
        "StorageCapacity": "lustre.capacity_gib",
        "SubnetIds": "lustre.availability_zone",
        "LustreConfiguration/DeploymentType": "lustre.deployment_type",
        "LustreConfiguration/EfaEnabled": "lustre.efa",
        "LustreConfiguration/PerUnitStorageThroughput": "lustre.throughput_mbps_per_tib",
    },
    "AWS::FSx::DataRepositoryAssociation": {"FileSystemPath": "lustre.data_repositories"}
    | {key: "lustre.data_repositories" for key in ("DataRepositoryPath", "S3")},
    VPC: {"CidrBlock": "vpc_cidr"},
    SUBNET: {"AvailabilityZone": "availability_zones", "CidrBlock": "vpc_cidr"},
    CLUSTER: {
        "DeletionProtection": "deletion_protection",
        "EncryptionConfig": "existing_key",
        "ResourcesVpcConfig/EndpointPublicAccess": "public_access_cidrs",
        "ResourcesVpcConfig/PublicAccessCidrs": "public_access_cidrs",
        "RoleArn": "cluster_role",
        "Version": "kubernetes_version",
    },
    "AWS::IAM::Role": {"PermissionsBoundary": "permissions_boundary"},
}

# The key that decides whether a resource of a type exists, where one key does.
_WHOLE = {
    NODE_GROUP: "node_groups.{}",
    FILE_SYSTEM: "lustre",
    SUBNET: "availability_zones",
    VPC: "existing_vpc",
    "AWS::Budgets::Budget": "monthly_budget_usd",
    "AWS::EC2::NatGateway": "nat",
    "AWS::EC2::VPCEndpoint": "nat",
    "AWS::EFS::AccessPoint": "efs",
    "AWS::EFS::FileSystem": "efs",
    "AWS::EFS::MountTarget": "efs",
    "AWS::FSx::DataRepositoryAssociation": "lustre.data_repositories",
    "AWS::SNS::Subscription": "alarm_email",
}

# The same by the name of an add-on or of a Helm release.
_BY_NAME = {
    "aws-ebs-csi-driver": "ebs",
    "aws-efs-csi-driver": "efs",
    "metrics-server": "metrics_server",
    versions.KUEUE.chart: "job_queue",
}


@dataclass(frozen=True, kw_only=True)
class PlannedStack:
    """A stack of the app, with its deployed template.

    Attributes:
        name: Its name.
        deployed: The stack in the account; None before its first deployment.
        old: The deployed template; empty before.
        new: The template of the app; empty where the app has the stack no longer.
        app: The names of all stacks of the app; None where they are not known.
    """

    name: str
    deployed: DeployedStack | None
    old: Template
    new: Template
    app: frozenset[str] | None = None

    @cached_property
    def changes(self) -> list[ResourceChange]:
        """The changes of its resources."""
        return template_changes(self.old, self.new)

    def physical_id(self, change: ResourceChange) -> str:
        """Return the id of a deployed resource; that of its template where the stack does not know it."""
        resources = self.deployed.resources if self.deployed else ()
        return next((each.id for each in resources if each.logical_id == change.logical_id), change.logical_id)

    def of_kind(self, *kinds: str) -> Iterator[ResourceChange]:
        """Yield the changes of resources of some types."""
        return (change for change in self.changes if change.kind in kinds)

    @property
    def changed_parameters(self) -> set[str]:
        """The parameters whose definition changes; not those that one of the templates lacks."""
        old, new = (each.get("Parameters", {}) for each in (self.old, self.new))
        return {name for name in old.keys() & new.keys() if old[name] != new[name]}

    @property
    def changed_conditions(self) -> set[str]:
        """The conditions that change, those too that refer to another one or to a mapping that changes."""
        found = (each.partition("/") for each in changed_values(self.old, self.new))
        return {name for section, _, name in found if section == "Conditions"}

    @cached_property
    def removed_exports(self) -> list[str]:
        """The exports that the new template lacks."""
        return sorted(set(self.exports) - _exports(self.new, self.name))

    @property
    def exports(self) -> list[str]:
        """The exports of the deployed template."""
        return sorted(_exports(self.old, self.name))

    def keys(self, change: ResourceChange) -> tuple[str, ...]:
        """Return the keys of cluster.yaml that decide a change, where these are known.

        Of a property that follows another resource, such as the subnet of a node group, they are those of that one.
        """
        group = self._group(change)
        found, seen, pending = dict[str, None](), set[str](), [change]
        while pending:
            each = pending.pop()
            seen.add(each.logical_id)
            own = [path for path in each.paths if path not in each.followed]
            found |= dict.fromkeys([*_whole(each, group), *_keys(each, group, own)])
            pending += [
                other for other in self.changes if other.logical_id in each.causes and other.logical_id not in seen
            ]
        return tuple(found)

    def own_keys(self, change: ResourceChange, paths: Collection[str]) -> tuple[str, ...]:
        """Return the keys of cluster.yaml that decide some properties of a resource, where these are known."""
        return tuple(dict.fromkeys(_keys(change, self._group(change), paths)))

    def title(self, change: ResourceChange) -> str:
        """Return a resource in words: `node group 'gpu' of p4d.24xlarge`, `FSx File System fs-0123456789abcdef0`."""
        if change.kind == NODE_GROUP:
            return f"node group {group_name(change)!r} of {self.instance_types(change)}"
        if change.kind.startswith("Custom::"):
            return f"{change.kind.removeprefix('Custom::')} {change.logical_id}"
        # A module has a fourth part: AWS::S3::Bucket::MODULE.
        service, kind = change.kind.split("::")[1:3]
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind)
        return f"{service} {words} {self.physical_id(change)}"

    def instance_types(self, group: ResourceChange, *, new: bool = False) -> str:
        """Return the types of a node group, those that are deployed where it is, or the new ones."""
        is_new = new or not group.old
        properties = group.new if is_new else group.old
        in_template = value_at(self._launch_template(group, new=is_new), "InstanceType")
        given = sequence(properties.get("InstanceTypes")) or [in_template]
        # A type may be a value that only the deployment knows.
        return ", ".join(each for each in given if isinstance(each, str)) or "an unknown type"

    def is_reserved(self, group: ResourceChange) -> bool:
        """Return whether the nodes of a deployed group start in a reservation, which may have no room for another."""
        return value_at(self._launch_template(group, new=False), "CapacityReservationSpecification") is not None

    def _group(self, change: ResourceChange) -> str:
        """Return the node group of a change; that of a launch template has the label, not the template."""
        if change.kind == _TEMPLATE:
            resources = [*self.old.get("Resources", {}).values(), *self.new.get("Resources", {}).values()]
            users = (
                each for each in resources if each["Type"] == NODE_GROUP and _template_id(each) == change.logical_id
            )
            return next((_label(each["Properties"]) for each in users), SYSTEM_GROUP)
        return group_name(change)

    def _launch_template(self, group: ResourceChange, *, new: bool) -> Any:
        name = value_at(group.new if new else group.old, "LaunchTemplate/Id/Ref")
        resources = (self.new if new else self.old).get("Resources", {})
        return value_at(resources.get(name), "Properties/LaunchTemplateData")


def _whole(change: ResourceChange, group: str) -> Iterator[str]:
    """Yield the key that decides whether a resource exists, where it is created or removed."""
    if change.action in ("create", "remove"):
        properties = change.old or change.new
        name = properties.get("AddonName") or properties.get("Release")
        if key := _WHOLE.get(change.kind) or (isinstance(name, str) and _BY_NAME.get(name)):
            yield _of_group(key, group)


def _keys(change: ResourceChange, group: str, paths: Collection[str]) -> Iterator[str]:
    known = _KEYS.get(change.kind, {})
    for path in paths:
        yield from (_of_group(key, group) for start, key in known.items() if f"{path}/".startswith(f"{start}/"))


def _of_group(key: str, group: str) -> str:
    """Return a key of a node group; that of the system nodes is in a separate section, which has no desired size."""
    if group == SYSTEM_GROUP:
        key = key.replace("desired_size", "min_size")
    return key.replace("node_groups.{}", "system_nodes") if group == SYSTEM_GROUP else key.format(group)


def group_name(change: ResourceChange) -> str:
    """Return the name of a node group in cluster.yaml."""
    return _label(change.old or change.new)


def _label(properties: Mapping[str, Any]) -> str:
    return str(properties.get("Labels", {}).get(NODE_GROUP_LABEL, SYSTEM_GROUP))


def _template_id(group: Mapping[str, Any]) -> Any:
    return value_at(group, "Properties/LaunchTemplate/Id/Ref")


def _exports(template: Mapping[str, Any], stack: str) -> set[str]:
    names = (value_at(each, "Export/Name") for each in template.get("Outputs", {}).values())
    return {_export(name, stack) for name in names if name is not None}


def _export(name: Any, stack: str) -> str:
    """Return the name of an export; of a function, only the stack's name is known here, and else its text."""
    if isinstance(name, Mapping) and isinstance(name.get("Fn::Sub"), str):
        return str(name["Fn::Sub"]).replace("${AWS::StackName}", stack)
    return name if isinstance(name, str) else json.dumps(name, sort_keys=True)
