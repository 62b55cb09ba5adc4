"""FSx for Lustre linked to S3, and its volume in the cluster."""

from dataclasses import dataclass

import cdk8s
from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3
from constructs import Construct
from pydantic import ConfigDict

from training_workloads import InputError, LustreVolumeChart
from training_workloads.catalog.versions import LUSTRE_VERSION
from training_workloads.errors import check_at_least, check_one_of

__all__ = ["LustreFileSystem", "LustreSpec", "LustreVolume"]

# PERSISTENT_2 on SSD: https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-storage-capacity.html
_SMALLEST_GIB = 1200
_STEP_GIB = 2400
_THROUGHPUTS = (125, 250, 500, 1000)

# https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
_PORTS = (range(988, 989), range(1018, 1024))


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreSpec:
    """Size and speed of a PERSISTENT_2 file system on SSD.

    Attributes:
        capacity_gib: Storage in GiB: 1200 or a multiple of 2400.
        throughput_mbps_per_tib: Throughput in MB/s per TiB of storage: 125, 250, 500 or 1000.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    capacity_gib: int = _SMALLEST_GIB
    throughput_mbps_per_tib: int = _THROUGHPUTS[0]

    def __post_init__(self) -> None:
        """Checks what FSx would refuse."""
        if not Token.is_unresolved(self.capacity_gib):
            _check_capacity(self.capacity_gib)
        check_one_of("throughput_mbps_per_tib", self.throughput_mbps_per_tib, _THROUGHPUTS)


def _check_capacity(gib: int) -> None:
    check_at_least("capacity_gib", gib, 1)
    if gib != _SMALLEST_GIB and gib % _STEP_GIB:
        larger = _SMALLEST_GIB if gib < _SMALLEST_GIB else -(-gib // _STEP_GIB) * _STEP_GIB
        raise InputError(
            f"'capacity_gib' is {gib}, which Lustre does not offer; "
            f"give {_SMALLEST_GIB} or a multiple of {_STEP_GIB}, such as {larger}"
        )


class LustreFileSystem(Construct):
    """A PERSISTENT_2 file system whose root is linked to a bucket.

    New and changed objects appear as files, new and changed files are exported as objects. Deletions are not
    exported: `rm` on Lustre never deletes an object.

    Attributes:
        spec: Size and speed.
        file_system: The FSx file system.
        data_repository: Its link to the bucket.
        security_group: The group of its network interfaces.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        subnet: ec2.ISubnet,
        clients: ec2.ISecurityGroup,
        bucket: s3.IBucket,
        spec: LustreSpec | None = None,
    ) -> None:
        """Defines the file system.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            vpc: The VPC of the subnet.
            subnet: Where it lives; the zone of the nodes that use it.
            clients: Security group of the nodes that mount it.
            bucket: The bucket behind it.
            spec: Size and speed. Default: 1200 GiB at 125 MB/s per TiB.
        """
        super().__init__(scope, id)
        self.spec = spec or LustreSpec()
        self.security_group = ec2.SecurityGroup(self, "SecurityGroup", vpc=vpc, description="FSx for Lustre")
        self.file_system = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=LUSTRE_VERSION,
            storage_type="SSD",
            storage_capacity=self.spec.capacity_gib,
            subnet_ids=[subnet.subnet_id],
            security_group_ids=[self.security_group.security_group_id],
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=self.spec.throughput_mbps_per_tib,
                data_compression_type="LZ4",
            ),
        )
        self._open_ports(clients)
        self.data_repository = self._link(bucket)

    def _open_ports(self, clients: ec2.ISecurityGroup) -> None:
        group_id = self.security_group.security_group_id
        for port in _PORTS:
            # FSx refuses to make a file system whose servers cannot reach each other, so these rules come first.
            between_servers = ec2.CfnSecurityGroupIngress(
                self,
                f"Servers{port.start}",
                group_id=group_id,
                source_security_group_id=group_id,
                ip_protocol="tcp",
                from_port=port.start,
                to_port=port.stop - 1,
                description="Lustre between its servers",
            )
            self.file_system.add_dependency(between_servers)
            tcp = ec2.Port.tcp_range(port.start, port.stop - 1)
            self.security_group.add_ingress_rule(clients, tcp, "Lustre from its clients")
            clients.add_ingress_rule(self.security_group, tcp, "Lustre to its clients")

    def _link(self, bucket: s3.IBucket) -> fsx.CfnDataRepositoryAssociation:
        association = fsx.CfnDataRepositoryAssociation
        # DELETED is in neither list: a removed file must not remove the object, nor the other way round.
        events = ["NEW", "CHANGED"]
        return association(
            self,
            "DataRepository",
            file_system_id=self.file_system.ref,
            file_system_path="/",
            data_repository_path=f"s3://{bucket.bucket_name}",
            batch_import_meta_data_on_create=True,
            s3=association.S3Property(
                auto_import_policy=association.AutoImportPolicyProperty(events=events),
                auto_export_policy=association.AutoExportPolicyProperty(events=events),
            ),
        )

    @property
    def dns_name(self) -> str:
        """DNS name that clients mount."""
        return self.file_system.attr_dns_name


class LustreVolume(Construct):
    """The file system as a static volume and a claim in the cluster.

    Attributes:
        manifest: The volume, the claim and the Job that hands the jobs' folders to their user.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, file_system: LustreFileSystem) -> None:
        """Defines the volume.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the FSx CSI driver.
            file_system: The file system.
        """
        super().__init__(scope, id)
        chart = LustreVolumeChart(
            cdk8s.App(),
            "Volume",
            file_system_id=file_system.file_system.ref,
            dns_name=file_system.dns_name,
            mount_name=file_system.file_system.attr_lustre_mount_name,
            capacity_gib=file_system.spec.capacity_gib,
        )
        self.manifest = eks.KubernetesManifest(self, "Resource", cluster=cluster, manifest=chart.to_json())
        # Pods may read files only when the metadata of the bucket's objects is there.
        self.manifest.node.add_dependency(file_system.data_repository)
