"""The section on training with SageMaker: its network, its file systems and a notebook instance."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from training_cluster.config.existing import SiteConfig
from training_cluster.config.sections import LustreConfig
from training_cluster.identity.folder_access import Folder
from training_cluster.sagemaker.training_notebook import NotebookSpec
from training_cluster.sagemaker.training_role import DATA_PREFIX
from training_workloads.spec import switch
from training_workloads.validation import Problem, Problems

__all__ = ["SageMakerConfig"]


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
