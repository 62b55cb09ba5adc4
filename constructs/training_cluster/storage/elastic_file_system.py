"""An Elastic File System for code, notebooks and small files, and its volume in the cluster."""

from collections.abc import Sequence
from typing import Annotated, Any

import cdk8s
import jsii
from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.checks import Cluster, Key, KnownChecked, SecurityGroup, Subnets, Vpc, has, is_a
from training_cluster.lifecycle import ClusterDefaults, after_namespaces
from training_cluster.network.security_group_rules import allow_tcp
from training_cluster.network.training_network import private_subnets
from training_cluster.stack_order import order_stacks
from training_cluster.storage.cluster_volume import Volume, share_with_teams, valid_nodes
from training_workloads.jobs.volumes import EFS_CLAIM
from training_workloads.keywords import checked, keywords_of
from training_workloads.mpijob.programs import UID
from training_workloads.platform.file_systems import efs_access_point_id, efs_id
from training_workloads.platform.volumes import EfsVolumeChart
from training_workloads.spec import Checked, Spec
from training_workloads.validation import MISSING, Problem, Problems, check

__all__ = ["Elastic", "ElasticFileSystem", "ElasticVolume", "ImportedElasticFileSystem", "open_nfs_port"]

_NFS = 2049
_FOLDER = "/training"

# The jobs' user may do everything, its group may read.
_PERMISSIONS = "750"

_GIVE_AN_ACCESS_POINT = "give one, such as file_system.add_access_point(...)"


class ElasticFileSystemAttributes(Spec):
    """An existing file system.

    Attributes:
        file_system_id: `fs-…`.
        access_point_id: `fsap-…`, an access point of it.
        security_group: The group of its mount targets, which an `ElasticVolume` opens to the nodes. Default: its rules
            admit the nodes on TCP 2049 already.
    """

    file_system_id: Annotated[str, KnownChecked(efs_id)]
    access_point_id: Annotated[str, KnownChecked(efs_access_point_id)]
    security_group: SecurityGroup | None = None


class ElasticFileSystem(efs.FileSystem):
    """A file system that grows by itself and outlives its stack; one folder of it belongs to the jobs.

    Files are encrypted, stored and on the wire. Files that were not read for 30 days move to cheaper storage and return
    when they are read.

    Attributes:
        vpc: The VPC of its mount targets.
        access_point: The jobs' folder, `/training`: all that clients write there belongs to the jobs' user.
        security_group: The group of its mount targets. It is beside the file system in the tree, with the id
            `<id>SecurityGroup`.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: Vpc,
        subnets: Subnets | None = None,
        for_sagemaker: bool = False,
        encryption_key: Key | None = None,
    ) -> None:
        """Define the file system.

        Args:
            vpc: The VPC of the subnets.
            subnets: Subnets of its mount targets, one in each zone whose nodes mount it. Default: the VPC's private
                subnets, or its isolated ones if it has no other.
            for_sagemaker: Whether training jobs of SageMaker mount it: it then accepts clients without TLS or an
                access point, and as root. Default: clients use both, and none is root.
            encryption_key: Key of the stored files. Default: the account's key for EFS.

        Raises:
            InputError: `vpc`, a subnet or `encryption_key` is of another type, or `for_sagemaker` is not a bool.
        """
        order_stacks(scope, id, vpc=vpc, encryption_key=encryption_key)
        self.vpc = vpc
        # A mount target opens no connections.
        self.security_group = ec2.SecurityGroup(
            scope, f"{id}SecurityGroup", vpc=vpc, description="Elastic File System", allow_all_outbound=False
        )
        chosen = _one_in_each_zone(private_subnets(vpc)) if subnets is None else list(subnets)
        super().__init__(
            scope,
            id,
            vpc=vpc,
            # In a zone without a mount target its name does not resolve:
            # https://docs.aws.amazon.com/efs/latest/ug/mounting-fs-mount-cmd-dns-name.html
            vpc_subnets=ec2.SubnetSelection(subnets=chosen),
            security_group=self.security_group,
            encrypted=True,
            kms_key=encryption_key,
            file_system_policy=_policy(for_sagemaker=for_sagemaker),
            # The policy is complete: without this, CDK adds a statement that lets clients be root.
            allow_anonymous_access=True,
            # Paid by bytes read and written; bursting would slow a small file system down to almost nothing.
            throughput_mode=efs.ThroughputMode.ELASTIC,
            lifecycle_policy=efs.LifecyclePolicy.AFTER_30_DAYS,
            out_of_infrequent_access_policy=efs.OutOfInfrequentAccessPolicy.AFTER_1_ACCESS,
            # CloudFormation deletes it where its first deployment fails, before anyone has written.
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        self.access_point = _add_folder(self)

    @property
    def access_point_id(self) -> str:
        """`fsap-…`, a token."""
        return self.access_point.access_point_id

    @staticmethod
    @keywords_of(ElasticFileSystemAttributes)
    def from_elastic_file_system_attributes(
        scope: Construct, id: str, attributes: ElasticFileSystemAttributes
    ) -> "ImportedElasticFileSystem":
        """Import an existing file system; `aws efs describe-access-points` shows its two ids.

        Raises:
            InputError: A value is not an EFS id, or `security_group` is of another type.
        """
        return ImportedElasticFileSystem(scope, id, **attributes.given())


@jsii.implements(ec2.IConnectable)
class ImportedElasticFileSystem(Construct):
    """An existing file system and the access point that jobs use; `ElasticFileSystem` imports it.

    Attributes:
        file_system_id: `fs-…`.
        access_point_id: `fsap-…`.
    """

    @keywords_of(ElasticFileSystemAttributes)
    def __init__(self, scope: Construct, id: str, attributes: ElasticFileSystemAttributes) -> None:
        """Refer to the file system."""
        super().__init__(scope, id)
        self.file_system_id, self.access_point_id = attributes.file_system_id, attributes.access_point_id
        groups = [attributes.security_group] if attributes.security_group else []
        self._connections = ec2.Connections(security_groups=groups, default_port=ec2.Port.tcp(_NFS))

    @property
    def connections(self) -> ec2.Connections:
        """Its security group, with the port of NFS by default."""
        return self._connections


def _one_in_each_zone(subnets: Sequence[ec2.ISubnet]) -> list[ec2.ISubnet]:
    """Return the first subnet of each zone, in which EFS accepts one mount target."""
    first: dict[str, ec2.ISubnet] = {}
    for subnet in subnets:
        first.setdefault(subnet.availability_zone, subnet)
    return list(first.values())


def _add_folder(file_system: efs.FileSystem) -> efs.AccessPoint:
    user = str(UID)
    return file_system.add_access_point(
        "AccessPoint",
        path=_FOLDER,
        create_acl=efs.Acl(owner_uid=user, owner_gid=user, permissions=_PERMISSIONS),
        posix_user=efs.PosixUser(uid=user, gid=user),
    )


def _policy(*, for_sagemaker: bool) -> iam.PolicyDocument:
    """Let clients mount without IAM, through the mount target; those of a cluster with TLS, and not as root.

    Those of a cluster mount an access point and so one folder, as its user. The root of the file system, where a client
    chooses its user, is no access point.
    https://docs.aws.amazon.com/efs/latest/ug/access-points-iam-policy.html

    A channel of a training job has no option for TLS or for an access point, and "POSIX permissions are ignored" in it:
    https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_FileSystemDataSource.html and
    https://docs.aws.amazon.com/sagemaker/latest/dg/security_iam_id-based-policy-examples.html (read 2026-11-23).
    https://docs.aws.amazon.com/efs/latest/ug/create-file-system-policy.html
    """
    actions = ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
    via_target = {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}}
    anyone = [iam.AnyPrincipal()]
    if for_sagemaker:
        actions.append("elasticfilesystem:ClientRootAccess")
        mount = iam.PolicyStatement(principals=anyone, actions=actions, conditions=via_target)
        return iam.PolicyDocument(statements=[mount])
    points = f"arn:{Aws.PARTITION}:elasticfilesystem:{Aws.REGION}:{Aws.ACCOUNT_ID}:access-point/*"
    via_point = {"StringLike": {"elasticfilesystem:AccessPointArn": points}}
    mount = iam.PolicyStatement(principals=anyone, actions=actions, conditions=via_target | via_point)
    plain_text = iam.PolicyStatement(
        effect=iam.Effect.DENY,
        principals=anyone,
        actions=["*"],
        conditions={"Bool": {"aws:SecureTransport": "false"}},
    )
    return iam.PolicyDocument(statements=[mount, plain_text])


def _elastic(name: str, file_system: Any) -> Problems:
    """Reject objects that are no Elastic File System, such as one for Lustre."""
    if not isinstance(file_system, ImportedElasticFileSystem) and not is_a(file_system, "mount_targets_available"):
        fix = "give an ElasticFileSystem, or import one with ElasticFileSystem.from_elastic_file_system_attributes"
        yield Problem(path=(name,), given=file_system, fix=fix)


#: An Elastic File System of this library, imported or not, or one of the CDK.
Elastic = Annotated[ElasticFileSystem | ImportedElasticFileSystem | efs.IFileSystem, Checked(_elastic)]


class ElasticVolume(Volume):
    """The file system as a static volume and a claim in the cluster, with NFS open to the nodes.

    Attributes:
        file_system: The file system.
        manifest: The volume and the claim.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: Cluster,
        file_system: Elastic,
        access_point: Annotated[efs.IAccessPoint, Checked(has, "access_point_id", _GIVE_AN_ACCESS_POINT)] | None = None,
        claim: str = EFS_CLAIM,
        namespace: str = "default",
    ) -> None:
        """Define the volume.

        Args:
            cluster: The cluster with the EFS CSI driver, which a `TrainingCluster` gets.
            file_system: The file system: one of this library, imported or not, or one of the CDK.
            access_point: Its folder that the volume shows; required with a file system of the CDK. Default: that of the
                file system.
            claim: Name of the claim, and of the volume. Default: `training-efs`.
            namespace: Namespace of the claim, and so of the jobs; it must exist. Default: `default`.

        Raises:
            InputError: The cluster has no kubectl, or such a volume from another construct; the file system is of
                another kind, its stack waits for this one, or it has no access point, or Kubernetes does not allow a
                name.
        """
        check(_needed_access_point(access_point, file_system), valid_nodes("cluster", cluster, file_system))
        shown: Any = access_point or file_system
        super().__init__(scope, id, cluster=cluster, file_system=file_system, claim=claim)
        self.file_system = file_system
        chart = EfsVolumeChart(
            cdk8s.App(),
            "Volume",
            file_system_id=file_system.file_system_id,
            access_point_id=shown.access_point_id,
            claim=claim,
            namespace=namespace,
        )
        if isinstance(cluster, ClusterDefaults):
            cluster.require_efs_driver()
        after = (file_system, access_point, self._open_port(file_system.connections))
        self.manifest = self._apply("Resource", chart, after=after)
        after_namespaces(self.manifest, cluster, namespace)
        share_with_teams(self, cluster)

    def _open_port(self, connections: ec2.Connections) -> Construct:
        scope = Construct(self, "Ports")
        open_nfs_port(scope, connections, self._cluster.cluster_security_group)
        return scope


def open_nfs_port(scope: Construct, connections: ec2.Connections, clients: ec2.ISecurityGroup) -> None:
    """Define the rules that admit clients to the mount targets of a file system with some connections."""
    for number, group in enumerate(connections.security_groups):
        ports = range(_NFS, _NFS + 1)
        allow_tcp(scope, str(number), group=group, peer=clients, ports=ports, description="NFS from its clients")


def _needed_access_point(access_point: Any, file_system: Any) -> Problems:
    """Require one with a file system of the CDK: its root belongs to root, and jobs could not write."""
    has_one = isinstance(file_system, ElasticFileSystem | ImportedElasticFileSystem)
    if access_point is None and hasattr(file_system, "grant_root_access") and not has_one:
        yield Problem(
            path=("access_point",),
            given=MISSING,
            allowed="jobs cannot write to the root of a file system",
            fix=_GIVE_AN_ACCESS_POINT,
            related=(("file_system",),),
        )
