"""The sections that name what exists: a VPC and the file systems in it, which outlive the cluster."""

from typing import Self

from pydantic import Field, model_validator

from training_workloads.names import aws_id
from training_workloads.platform.file_systems import efs_access_point_id, efs_id, lustre_id, lustre_mount_name
from training_workloads.spec import Spec
from training_workloads.validation import Problem, Problems, at_least, enforce

__all__ = ["ExistingEfsConfig", "ExistingLustreConfig", "ExistingVpcConfig"]

_SUBNET = "subnet-0123456789abcdef0"
_GROUP = "sg-0123456789abcdef0"


class ExistingVpcConfig(Spec):
    """A VPC with a private subnet in each of `availability_zones`.

    Attributes:
        vpc_id: `vpc-…`.
        private_subnet_ids: One subnet for each of `availability_zones`, in the same order.
    """

    vpc_id: str = Field(examples=["vpc-0123456789abcdef0"])
    private_subnet_ids: tuple[str, ...] = Field(examples=[f"[{_SUBNET}, {_SUBNET[:-1]}1]"])

    @model_validator(mode="after")
    def _check(self) -> Self:
        enforce(self, (vpc_is_an_id, subnets_are_ids))
        return self


class ExistingLustreConfig(Spec):
    """A Lustre file system as `aws fsx describe-file-systems` shows it.

    Attributes:
        file_system_id: `fs-…`.
        mount_name: FSx's name for its root.
        capacity_gib: Storage in GiB.
        security_group_id: The group of its network interfaces, which is opened to the nodes. Default: its rules admit
            the nodes already.
    """

    file_system_id: str = Field(examples=["fs-0123456789abcdef0"])
    mount_name: str = Field(examples=["abcdefgh"])
    capacity_gib: int = Field(examples=[2400])
    security_group_id: str | None = Field(default=None, examples=[_GROUP])

    @model_validator(mode="after")
    def _check(self) -> Self:
        enforce(self, (lustre_is_an_id, mount_name_is_one, capacity_is_a_number, group_is_an_id))
        return self


class ExistingEfsConfig(Spec):
    """An Elastic File System and its access point, as `aws efs describe-access-points` shows them.

    Attributes:
        file_system_id: `fs-…`.
        access_point_id: `fsap-…`, the folder of the jobs.
        security_group_id: The group of its mount targets, which is opened to the nodes. Default: its rules admit the
            nodes already.
    """

    file_system_id: str = Field(examples=["fs-0123456789abcdef0"])
    access_point_id: str = Field(examples=["fsap-0123456789abcdef0"])
    security_group_id: str | None = Field(default=None, examples=[_GROUP])

    @model_validator(mode="after")
    def _check(self) -> Self:
        enforce(self, (efs_is_an_id, access_point_is_an_id, group_is_an_id))
        return self


def vpc_is_an_id(config: ExistingVpcConfig) -> Problems:
    """Reject a name or an ARN."""
    yield from aws_id("vpc_id", config.vpc_id, "vpc", "aws ec2 describe-vpcs")


def subnets_are_ids(config: ExistingVpcConfig) -> Problems:
    """Reject names, a subnet that is given twice, and none at all."""
    ids = config.private_subnet_ids
    if not ids:
        fix = "give the private subnet of each of availability_zones, in the same order"
        yield Problem(path=("private_subnet_ids",), given=ids, allowed="the nodes need one in each zone", fix=fix)
    for number, subnet in enumerate(ids):
        for problem in aws_id("", subnet, "subnet", "aws ec2 describe-subnets"):
            yield Problem(path=("private_subnet_ids", number), given=subnet, fix=problem.fix)
    if len(set(ids)) < len(ids):
        yield Problem(path=("private_subnet_ids",), given=ids, fix="give each subnet once")


def lustre_is_an_id(config: ExistingLustreConfig) -> Problems:
    """Reject the id of another kind of resource."""
    yield from lustre_id("file_system_id", config.file_system_id)


def mount_name_is_one(config: ExistingLustreConfig) -> Problems:
    """Reject a path."""
    yield from lustre_mount_name("mount_name", config.mount_name)


def capacity_is_a_number(config: ExistingLustreConfig) -> Problems:
    """Reject what is no size."""
    yield from at_least("capacity_gib", config.capacity_gib, 1)


def efs_is_an_id(config: ExistingEfsConfig) -> Problems:
    """Reject the id of another kind of resource."""
    yield from efs_id("file_system_id", config.file_system_id)


def access_point_is_an_id(config: ExistingEfsConfig) -> Problems:
    """Reject the id of another kind of resource."""
    yield from efs_access_point_id("access_point_id", config.access_point_id)


def group_is_an_id(config: ExistingLustreConfig | ExistingEfsConfig) -> Problems:
    """Reject the name of a group."""
    if config.security_group_id is not None:
        yield from aws_id("security_group_id", config.security_group_id, "sg", "aws ec2 describe-security-groups")
