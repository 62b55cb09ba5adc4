"""The section on training with SageMaker: its network, its file systems and a notebook instance."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from training_cluster.config.existing import ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig
from training_cluster.config.existing_rules import EXISTING_RULES
from training_cluster.config.sections import LustreConfig
from training_cluster.identity.folder_access import valid_prefix
from training_cluster.network.addresses import valid_vpc_cidr
from training_cluster.network.training_network import valid_zones
from training_cluster.sagemaker.training_notebook import NOTEBOOK_VOLUME_GIB, valid_notebook
from training_cluster.sagemaker.training_role import DATA_PREFIX
from training_workloads.catalog.versions import NOTEBOOK_INSTANCE_TYPE
from training_workloads.spec import Spec, switch
from training_workloads.validation import Problem, Problems, enforce

__all__ = ["NotebookConfig", "SageMakerConfig", "SageMakerSection"]


class NotebookConfig(Spec):
    """A notebook instance, which can submit jobs.

    Attributes:
        instance_type: SageMaker's type. Default: a small one without a GPU.
        repository: Git repository that is cloned: an https URL, or the name of a code repository of SageMaker. Default:
            none.
        volume_gib: Size of its volume in GiB.
    """

    instance_type: str = NOTEBOOK_INSTANCE_TYPE
    repository: str | None = Field(default=None, examples=["https://github.com/my-team/training.git"])
    volume_gib: int = NOTEBOOK_VOLUME_GIB

    @model_validator(mode="after")
    def _check(self) -> Self:
        enforce(self, (notebook_is_one_of_sagemaker,))
        return self

    def props(self) -> dict[str, Any]:
        """Return the keywords of `TrainingNotebook`."""
        return self.model_dump()


class SageMakerConfig(Spec):
    """Training on SageMaker, with the bucket and the images of the cluster.

    Attributes:
        vpc_cidr: Address range of the VPC, /16 to /20. Default: 10.0.0.0/16.
        availability_zones: Names of two or more zones, the one with the GPU capacity first. Default: the first two of
            the region.
        nat: Whether jobs and the notebook reach the internet through a NAT gateway. Default: no; endpoints lead to AWS.
        existing_vpc: A VPC to use in place of a new one. Default: a new one.
        lustre: A Lustre file system that jobs mount; `true` for its defaults. Default: none.
        existing_lustre: A Lustre file system in the existing VPC, in place of `lustre`. Default: none.
        efs: Whether there is an EFS file system that jobs mount. Default: no.
        existing_efs: An EFS file system in the existing VPC, in place of `efs`. Default: none.
        data_prefix: Folder of the bucket that jobs read; `/` for the whole bucket. Default: data.
        notebook: A notebook instance; `true` for its defaults. Default: none.
    """

    vpc_cidr: str = "10.0.0.0/16"
    availability_zones: tuple[str, ...] = Field(default=(), examples=["[us-east-1a, us-east-1b]"])
    nat: bool = False
    existing_vpc: ExistingVpcConfig | None = Field(default=None, examples=["{vpc_id: …, private_subnet_ids: […]}"])
    lustre: Annotated[LustreConfig | None, BeforeValidator(switch)] = Field(
        default=None, examples=["capacity_gib: 1200"]
    )
    existing_lustre: ExistingLustreConfig | None = Field(
        default=None, examples=["{file_system_id: …, mount_name: …, capacity_gib: …}"]
    )
    efs: bool = False
    existing_efs: ExistingEfsConfig | None = Field(default=None, examples=["{file_system_id: …, access_point_id: …}"])
    data_prefix: str = DATA_PREFIX
    notebook: Annotated[NotebookConfig | None, BeforeValidator(switch)] = Field(
        default=None, examples=["repository: https://github.com/my-team/training.git"]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        enforce(self, RULES)
        return self

    @property
    def training_zone(self) -> str | None:
        """Zone of Lustre, and of the jobs that mount it; None for the first of the region."""
        named = self.lustre.availability_zone if self.lustre else None
        return named or next(iter(self.availability_zones), None)


SageMakerSection = Annotated[SageMakerConfig | None, BeforeValidator(switch)]


def notebook_is_one_of_sagemaker(config: NotebookConfig) -> Problems:
    """Reject what SageMaker rejects."""
    yield from valid_notebook(config.instance_type, config.repository, config.volume_gib)


def sagemaker_vpc_has_a_range(config: SageMakerConfig) -> Problems:
    """EC2 must accept the range."""
    yield from valid_vpc_cidr("vpc_cidr", config.vpc_cidr)


def sagemaker_zones_are_two_or_none(config: SageMakerConfig) -> Problems:
    """Require a second zone, in which SageMaker can look for instances too."""
    if len(config.availability_zones) == 1:
        fix = "give two or more, the one with the GPU capacity first"
        yield Problem(path=("availability_zones",), given=config.availability_zones, fix=fix)
    else:
        yield from valid_zones("availability_zones", config.availability_zones)


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


def sagemaker_data_is_in_a_folder(config: SageMakerConfig) -> Problems:
    """Reject a wildcard, and the whole bucket unless it is meant."""
    yield from valid_prefix("data_prefix", config.data_prefix)


def repository_of_the_notebook_is_reached(config: SageMakerConfig) -> Problems:
    """The notebook instance does not start if it cannot clone the repository."""
    notebook = config.notebook
    if notebook and notebook.repository and not config.nat and not config.existing_vpc:
        allowed, fix = "the new VPC has no way to it", "set nat: true, or name a VPC with a way to it in existing_vpc"
        path = ("notebook", "repository")
        yield Problem(path=path, given=notebook.repository, allowed=allowed, fix=fix, related=(("nat",),))


RULES = (
    sagemaker_vpc_has_a_range,
    sagemaker_zones_are_two_or_none,
    sagemaker_lustre_is_in_the_vpc,
    *EXISTING_RULES,
    sagemaker_data_is_in_a_folder,
    repository_of_the_notebook_is_reached,
)
