"""An Elastic File System for code, notebooks and small files, and its volume in the cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

import cdk8s
from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.checks import check_cluster, check_id, check_is, check_vpc
from training_cluster.owner import own
from training_cluster.storage.volume_manifest import volume_manifest
from training_workloads.jobs.volumes import EFS_CLAIM
from training_workloads.mpijob.programs import UID
from training_workloads.platform.efs_volume import EfsVolumeChart
from training_workloads.validation import enforce

__all__ = ["ElasticFileSystem", "ElasticVolume", "ExistingElasticFileSystem"]

_NFS = 2049
_FOLDER = "/training"

# The jobs' user may do everything, its group may read.
_PERMISSIONS = "750"


class ElasticFileSystem(Construct):
    """A file system that grows by itself and outlives its stack; one folder of it belongs to the jobs.

    Files are encrypted, stored and on the wire. What nobody has read for 30 days moves to cheaper storage and comes
    back when it is read.

    Attributes:
        file_system: The file system. Retained on deletion.
        access_point: The jobs' folder, `/training`: whoever writes there writes as the jobs' user.
        security_group: The group of its mount target.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        subnets: Sequence[ec2.ISubnet],
        clients: ec2.ISecurityGroup,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Defines the file system.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            vpc: The VPC of the subnets.
            subnets: Where its mount targets are, one in each zone whose nodes mount it.
            clients: Security group of the nodes that mount it.
            encryption_key: Key of the stored files. Default: the account's key for EFS.

        Raises:
            InputError: `vpc` is of another type.
        """
        super().__init__(scope, id)
        check_vpc("vpc", vpc)
        # A mount target opens no connections.
        self.security_group = ec2.SecurityGroup(
            self, "SecurityGroup", vpc=vpc, description="Elastic File System", allow_all_outbound=False
        )
        self.security_group.add_ingress_rule(clients, ec2.Port.tcp(_NFS), "NFS from its clients")
        self.file_system = efs.FileSystem(
            self,
            "Resource",
            vpc=vpc,
            # In a zone without a mount target its name does not resolve:
            # https://docs.aws.amazon.com/efs/latest/ug/mounting-fs-mount-cmd-dns-name.html
            vpc_subnets=ec2.SubnetSelection(subnets=list(subnets)),
            security_group=self.security_group,
            encrypted=True,
            kms_key=encryption_key,
            file_system_policy=_policy(),
            # The policy is whole as it stands: without this, CDK adds a statement that lets clients be root.
            allow_anonymous_access=True,
            # Paid by what is read and written; bursting would slow a small file system down to almost nothing.
            throughput_mode=efs.ThroughputMode.ELASTIC,
            lifecycle_policy=efs.LifecyclePolicy.AFTER_30_DAYS,
            out_of_infrequent_access_policy=efs.OutOfInfrequentAccessPolicy.AFTER_1_ACCESS,
            removal_policy=RemovalPolicy.RETAIN,
        )
        user = str(UID)
        self.access_point = self.file_system.add_access_point(
            "AccessPoint",
            path=_FOLDER,
            create_acl=efs.Acl(owner_uid=user, owner_gid=user, permissions=_PERMISSIONS),
            posix_user=efs.PosixUser(uid=user, gid=user),
        )

    @property
    def file_system_id(self) -> str:
        """`fs-…`, known at deployment."""
        return self.file_system.file_system_id

    @property
    def access_point_id(self) -> str:
        """`fsap-…`, known at deployment."""
        return self.access_point.access_point_id


def _policy() -> iam.PolicyDocument:
    """Nodes mount without IAM, through the mount target, with TLS, and not as root.

    https://docs.aws.amazon.com/efs/latest/ug/create-file-system-policy.html
    """
    mount = iam.PolicyStatement(
        principals=[iam.AnyPrincipal()],
        actions=["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
        conditions={"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}},
    )
    plain_text = iam.PolicyStatement(
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=["*"],
        conditions={"Bool": {"aws:SecureTransport": "false"}},
    )
    return iam.PolicyDocument(statements=[mount, plain_text])


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingElasticFileSystem:
    """A file system that was made elsewhere; its security group must let the nodes in on TCP 2049.

    Attributes:
        file_system_id: `fs-…`.
        access_point_id: `fsap-…`, an access point of it.
    """

    file_system_id: str
    access_point_id: str

    def __post_init__(self) -> None:
        """Checks what no pod could mount."""
        enforce(self, (_check_file_system_id, _check_access_point_id))


def _check_file_system_id(existing: ExistingElasticFileSystem) -> None:
    check_id("file_system_id", existing.file_system_id, "fs", "aws efs describe-file-systems")


def _check_access_point_id(existing: ExistingElasticFileSystem) -> None:
    check_id("access_point_id", existing.access_point_id, "fsap", "aws efs describe-access-points")


class ElasticVolume(Construct):
    """The file system as a static volume and a claim in the cluster.

    Attributes:
        manifest: The volume and the claim.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        file_system: ElasticFileSystem | ExistingElasticFileSystem,
        claim: str = EFS_CLAIM,
        namespace: str = "default",
    ) -> None:
        """Defines the volume.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the EFS CSI driver.
            file_system: The file system.
            claim: Name of the claim, and of the volume. Default: `training-efs`.
            namespace: Namespace of the claim, and so of the jobs; it must exist. Default: `default`.

        Raises:
            InputError: The cluster has no kubectl, the file system is of another kind, or a name is not one of
                Kubernetes.
        """
        super().__init__(scope, id)
        check_cluster("cluster", cluster)
        check_is("file_system", file_system, ElasticFileSystem, ExistingElasticFileSystem)
        own(self, cluster, f"volume {claim}")
        chart = EfsVolumeChart(
            cdk8s.App(),
            "Volume",
            file_system_id=file_system.file_system_id,
            access_point_id=file_system.access_point_id,
            claim=claim,
            namespace=namespace,
        )
        self.manifest = volume_manifest(self, cluster=cluster, chart=chart, file_system=file_system)
