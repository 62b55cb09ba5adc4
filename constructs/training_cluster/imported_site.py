"""The resources that a configuration names in place of new ones: VPC, file systems and roles."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.config.sections import ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig
from training_cluster.storage.elastic_file_system import ElasticFileSystem, ImportedElasticFileSystem
from training_cluster.storage.lustre_file_system import LustreFileSystem, LustreFileSystemBase

__all__ = ["imported_efs", "imported_lustre", "imported_role", "imported_vpc", "limit_roles"]


def imported_vpc(scope: Construct, existing: ExistingVpcConfig, zones: Sequence[str]) -> ec2.IVpc:
    """Return the VPC, whose private subnets are in these zones, as the child `Network` of a construct."""
    return ec2.Vpc.from_vpc_attributes(
        scope,
        "Network",
        vpc_id=existing.vpc_id,
        availability_zones=list(zones),
        private_subnet_ids=list(existing.private_subnet_ids),
    )


def imported_lustre(scope: Construct, existing: ExistingLustreConfig) -> LustreFileSystemBase:
    """Return the Lustre file system, as the child `Lustre` of a construct."""
    stack = Stack.of(scope)
    return LustreFileSystem.from_lustre_file_system_attributes(
        scope,
        "Lustre",
        file_system_id=existing.file_system_id,
        dns_name=f"{existing.file_system_id}.fsx.{stack.region}.{stack.url_suffix}",
        mount_name=existing.mount_name,
        capacity_gib=existing.capacity_gib,
        security_group=_group(scope, "LustreGroup", existing.security_group_id),
    )


def imported_efs(scope: Construct, existing: ExistingEfsConfig) -> ImportedElasticFileSystem:
    """Return the Elastic File System, as the child `Efs` of a construct."""
    return ElasticFileSystem.from_elastic_file_system_attributes(
        scope,
        "Efs",
        file_system_id=existing.file_system_id,
        access_point_id=existing.access_point_id,
        security_group=_group(scope, "EfsGroup", existing.security_group_id),
    )


def imported_role(scope: Construct, id: str, arn: str | None) -> iam.IRole | None:
    """Return a role by its ARN, which no stack changes; None without one."""
    return iam.Role.from_role_arn(scope, id, arn, mutable=False) if arn else None


def limit_roles(stack: Stack, boundary: str | None) -> None:
    """Give every role of a stack the permissions boundary, those of CDK's custom resources too."""
    if boundary is not None:
        policy = iam.ManagedPolicy.from_managed_policy_arn(stack, "PermissionsBoundary", boundary)
        iam.PermissionsBoundary.of(stack).apply(policy)


def _group(scope: Construct, id: str, group: str | None) -> ec2.ISecurityGroup | None:
    return ec2.SecurityGroup.from_security_group_id(scope, id, group) if group else None
