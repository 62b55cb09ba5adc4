"""Everything that one cluster can be told, in one typed value."""

from dataclasses import dataclass, field

from pydantic import ConfigDict

from training_cluster.config.lustre_config import LustreConfig
from training_cluster.config.rules import RULES
from training_cluster.config.service_account_spec import ServiceAccountSpec
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.validation import enforce

__all__ = ["ClusterConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterConfig:
    """Everything that one `TrainingClusterStack` can be told.

    Attributes:
        node_groups: GPU node groups by name.
        lustre: Kind, size and speed of the file system, and what of the bucket it shows.
        efs: Whether there is an EFS file system too, for code and notebooks.
        kubernetes_version: Release of EKS.
        vpc_cidr: Address range of the VPC, /16 to /20.
        availability_zones: Names of two or more zones, the one with the GPU capacity first. Default: the first two
            of the region.
        nat: Whether nodes reach the internet through a NAT gateway. Without, they reach AWS through interface
            endpoints and nothing else, and `mirror` is needed.
        gang_scheduler: Scheduler that starts all workers of a job together or none: `volcano`, or the name of one with
            the coscheduling plugin. It must be installed in the cluster. Default: none.
        mirror: ECR registry with copies of the charts and images that come from elsewhere. Default: their makers' own.
        public_access_cidrs: Who reaches the Kubernetes API from outside the VPC. Default: nobody.
        allow_any_address: Whether `public_access_cidrs` may hold 0.0.0.0/0.
        admin_arns: IAM roles or users that administer the cluster with kubectl. Default: none.
        service_accounts: What jobs may read and write in S3, by the name of their service account. Default: nothing;
            Lustre needs none of it.
        alarm_email: Who is told when GPUs stand idle, Lustre fills up or a node fails. Default: nobody.
        monthly_budget_usd: Costs of the account in US dollars a month, of which `alarm_email` is told at 80 % and when
            they are about to be exceeded. Default: no budget.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    node_groups: dict[str, GpuNodeGroupSpec]
    lustre: LustreConfig = field(default_factory=LustreConfig)
    efs: bool = False
    kubernetes_version: str = KUBERNETES_VERSION
    vpc_cidr: str = "10.0.0.0/16"
    availability_zones: tuple[str, ...] = ()
    nat: bool = True
    gang_scheduler: str | None = None
    mirror: str | None = None
    public_access_cidrs: tuple[str, ...] = ()
    allow_any_address: bool = False
    admin_arns: tuple[str, ...] = ()
    service_accounts: dict[str, ServiceAccountSpec] = field(default_factory=dict)
    alarm_email: str | None = None
    monthly_budget_usd: int | None = None

    def __post_init__(self) -> None:
        """Checks what no single section can know."""
        enforce(self, RULES)

    @property
    def training_zone(self) -> str | None:
        """Zone of the GPU nodes and of the file system; None for the first of the region."""
        named = [self.lustre.availability_zone, *(spec.availability_zone for spec in self.node_groups.values())]
        return next(filter(None, [*named, *self.availability_zones]), None)
