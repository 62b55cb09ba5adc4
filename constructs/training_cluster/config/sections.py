"""The sections of the configuration file, and the rules of each.

The sections that name existing resources, a VPC and the file systems in it, are those of a cluster and of the training
on SageMaker alike.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field

from training_cluster.identity.folder_access import Folder
from training_cluster.network.addresses import VpcCidr
from training_cluster.network.training_network import Zones
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.sagemaker.training_notebook import NotebookSpec
from training_cluster.sagemaker.training_role import DATA_PREFIX
from training_cluster.storage.lustre_spec import LustreSpec
from training_workloads.names import aws_id
from training_workloads.platform.file_systems import efs_access_point_id, efs_id, lustre_id, lustre_mount_name
from training_workloads.spec import Checked, Spec, switch
from training_workloads.validation import MISSING, Path, Problem, Problems, at_least
from training_workloads.yaml_lines import Typed

__all__ = [
    "ExistingEfsConfig",
    "ExistingLustreConfig",
    "ExistingVpcConfig",
    "GpuNodeGroupConfig",
    "LustreConfig",
    "SageMakerConfig",
    "SiteConfig",
]

_SUBNET = "subnet-0123456789abcdef0"
_GROUP = "sg-0123456789abcdef0"

_GroupId = Annotated[str, Checked(aws_id, "sg", "aws ec2 describe-security-groups", typed=True)]


def _subnet_ids(name: str, ids: tuple[str, ...]) -> Problems:
    """Reject names, a subnet that is given twice, and an empty list."""
    if not ids:
        fix = "give the private subnet of each of availability_zones, in the same order"
        yield Problem(path=(name,), given=ids, allowed="the nodes need one in each zone", fix=fix)
    for number, subnet in enumerate(ids):
        for problem in aws_id("", subnet, "subnet", "aws ec2 describe-subnets"):
            yield Problem(path=(name, number), given=subnet, fix=problem.fix)
    if len(set(ids)) < len(ids):
        yield Problem(path=(name,), given=ids, fix="give each subnet once")


class ExistingVpcConfig(Spec):
    """A VPC with a private subnet in each of `availability_zones`.

    Attributes:
        vpc_id: `vpc-…`.
        private_subnet_ids: One subnet for each of `availability_zones`, in the same order.
    """

    vpc_id: Annotated[str, Checked(aws_id, "vpc", "aws ec2 describe-vpcs", typed=True)] = Field(
        examples=["vpc-0123456789abcdef0"]
    )
    private_subnet_ids: Annotated[tuple[str, ...], Checked(_subnet_ids, typed=True)] = Field(
        examples=[f"[{_SUBNET}, {_SUBNET[:-1]}1]"]
    )


class ExistingLustreConfig(Spec):
    """A Lustre file system as `aws fsx describe-file-systems` shows it.

    Attributes:
        file_system_id: `fs-…`.
        mount_name: FSx's name for its root.
        capacity_gib: Storage in GiB.
        security_group_id: The group of its network interfaces, which is opened to the nodes. Default: its rules admit
            the nodes already.
    """

    file_system_id: Annotated[str, Checked(lustre_id, typed=True)] = Field(examples=["fs-0123456789abcdef0"])
    mount_name: Annotated[str, Checked(lustre_mount_name, typed=True)] = Field(examples=["abcdefgh"])
    capacity_gib: Annotated[int, Checked(at_least, 1)] = Field(examples=[2400])
    security_group_id: _GroupId | None = Field(default=None, examples=[_GROUP])


class ExistingEfsConfig(Spec):
    """An Elastic File System and its access point, as `aws efs describe-access-points` shows them.

    Attributes:
        file_system_id: `fs-…`.
        access_point_id: `fsap-…`, the folder of the jobs.
        security_group_id: The group of its mount targets, which is opened to the nodes. Default: its rules admit the
            nodes already.
    """

    file_system_id: Annotated[str, Checked(efs_id, typed=True)] = Field(examples=["fs-0123456789abcdef0"])
    access_point_id: Annotated[str, Checked(efs_access_point_id, typed=True)] = Field(
        examples=["fsap-0123456789abcdef0"]
    )
    security_group_id: _GroupId | None = Field(default=None, examples=[_GROUP])


class SiteConfig(Spec):
    """The VPC and the file systems, new or existing.

    Attributes:
        vpc_cidr: Address range of the VPC, /16 to /20; large enough for all node groups at their `max_size`.
        availability_zones: Names of two or more zones, the one with the GPU capacity first; no local zones. Default:
            the first two of the region.
        existing_vpc: A VPC to use in place of a new one. Default: a new one.
        existing_lustre: A Lustre file system in that VPC, in place of `lustre`. Default: none.
        efs: Whether there is an EFS file system too.
        existing_efs: An EFS file system in that VPC, in place of `efs`. Default: none.
    """

    vpc_cidr: VpcCidr = "10.0.0.0/16"
    availability_zones: Zones = Field(default=(), examples=["[us-east-1a, us-east-1b]"])
    existing_vpc: ExistingVpcConfig | None = Field(default=None, examples=["{vpc_id: …, private_subnet_ids: […]}"])
    existing_lustre: ExistingLustreConfig | None = Field(
        default=None, examples=["{file_system_id: …, mount_name: …, capacity_gib: …}"]
    )
    efs: bool = False
    existing_efs: ExistingEfsConfig | None = Field(default=None, examples=["{file_system_id: …, access_point_id: …}"])


@SiteConfig.rule
def an_existing_vpc_has_its_zones_named(config: SiteConfig) -> Problems:
    """A template does not look up the zones of subnets, and CDK needs them."""
    if config.existing_vpc and not config.availability_zones:
        allowed, fix = "existing_vpc needs it", "name the zones of private_subnet_ids, two or more, in the same order"
        related: tuple[Path, ...] = (("existing_vpc",),)
        yield Problem(path=("availability_zones",), given=MISSING, allowed=allowed, fix=fix, related=related)


@SiteConfig.rule
def an_existing_vpc_has_a_subnet_in_each_zone(config: SiteConfig) -> Problems:
    """CDK matches zones and subnets by their order."""
    if not config.existing_vpc or not config.availability_zones:
        return
    if len(config.existing_vpc.private_subnet_ids) != len(config.availability_zones):
        yield Problem(
            path=("existing_vpc", "private_subnet_ids"),
            given=config.existing_vpc.private_subnet_ids,
            allowed=f"availability_zones is {', '.join(config.availability_zones)}",
            fix="give one subnet for each zone, in the same order",
            related=(("availability_zones",),),
        )


@SiteConfig.rule
def existing_file_systems_are_in_an_existing_vpc(config: SiteConfig) -> Problems:
    """A new VPC has no way to the file system."""
    for key in ("existing_lustre", "existing_efs"):
        if getattr(config, key) is not None and config.existing_vpc is None:
            allowed, fix = f"{key} needs it", "name the VPC of the file system"
            yield Problem(path=("existing_vpc",), given=MISSING, allowed=allowed, fix=fix, related=((key,),))


@SiteConfig.rule
def what_exists_is_not_described_too(config: SiteConfig) -> Problems:
    """The description would have no effect."""
    described = {"existing_vpc": ("vpc_cidr", "nat"), "existing_lustre": ("lustre",), "existing_efs": ("efs",)}
    for existing, keys in described.items():
        for key in keys if getattr(config, existing) is not None else ():
            value = getattr(config, key, None)
            # Not to want an EFS is no description.
            if key in config.model_fields_set and (key, value) != ("efs", False):
                given = Typed("a section") if key == "lustre" else value
                allowed = f"{existing} names what exists"
                yield Problem(path=(key,), given=given, allowed=allowed, fix="omit it", related=((existing,),))


class GpuNodeGroupConfig(GpuNodeGroupSpec):
    """A GPU node group.

    Attributes:
        availability_zone: Zone of the nodes: the training zone (the first of `availability_zones`, unless
            `lustre.availability_zone` names another) or one of `lustre.further_zones`. Default: the training zone.
    """

    availability_zone: str | None = Field(default=None, examples=["us-east-1a"])


class LustreConfig(LustreSpec):
    """The Lustre file system.

    Attributes:
        availability_zone: The training zone, which nodes and file system share. Default: the first zone.
        further_zones: Zones of other node groups, each of which gets a file system like this one, with the claim
            `training-lustre-<zone>`. Default: none.
    """

    availability_zone: str | None = Field(default=None, examples=["us-east-1a"])
    further_zones: tuple[str, ...] = Field(default=(), examples=["[us-east-1b]"])


class SageMakerConfig(SiteConfig):
    """Training on SageMaker, with the bucket and the images of the cluster.

    Attributes:
        vpc_cidr: Address range of the VPC, /16 to /20.
        nat: Whether jobs and the notebook reach the internet through a NAT gateway; without, endpoints lead to AWS.
        lustre: A Lustre file system that jobs mount; `true` for its defaults. Default: none.
        efs: Whether there is an EFS file system that jobs mount.
        data_prefix: Folder of the bucket that jobs read; `/` for the whole bucket.
        notebook: A notebook instance; `true` for its defaults. Default: none.
    """

    nat: bool = False
    lustre: Annotated[LustreConfig | None, BeforeValidator(switch)] = Field(
        default=None, examples=["capacity_gib: 1200"]
    )
    data_prefix: Folder = DATA_PREFIX
    notebook: Annotated[NotebookSpec | None, BeforeValidator(switch)] = Field(
        default=None, examples=["repository: https://github.com/my-team/training.git"]
    )

    @property
    def training_zone(self) -> str | None:
        """Zone of Lustre, and of the jobs that mount it; None for the first of the region."""
        named = self.lustre.availability_zone if self.lustre else None
        return named or next(iter(self.availability_zones), None)


@SageMakerConfig.rule
def sagemaker_lustre_is_in_the_vpc(config: SageMakerConfig) -> Problems:
    """A file system is in one zone of the VPC, and jobs mount one."""
    lustre = config.lustre
    if lustre and lustre.availability_zone and lustre.availability_zone not in config.availability_zones:
        yield Problem(
            path=("lustre", "availability_zone"),
            given=lustre.availability_zone,
            allowed=f"sagemaker.availability_zones is {', '.join(config.availability_zones) or 'empty'}",
            fix="add the zone there, or omit it",
            related=(("availability_zones",),),
        )
    if lustre and lustre.further_zones:
        allowed, fix = "SageMaker's jobs use one file system, in one zone", "omit it"
        yield Problem(path=("lustre", "further_zones"), given=lustre.further_zones, allowed=allowed, fix=fix)


@SageMakerConfig.rule
def repository_of_the_notebook_is_reached(config: SageMakerConfig) -> Problems:
    """The notebook instance does not start if it cannot clone the repository."""
    notebook = config.notebook
    if notebook and notebook.repository and not config.nat and not config.existing_vpc:
        allowed, fix = "the new VPC has no way to it", "set nat: true, or name a VPC with a way to it in existing_vpc"
        path = ("notebook", "repository")
        yield Problem(path=path, given=notebook.repository, allowed=allowed, fix=fix, related=(("nat",),))
