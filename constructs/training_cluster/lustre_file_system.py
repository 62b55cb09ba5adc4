"""FSx for Lustre linked to S3, and its volume in the cluster."""

from dataclasses import dataclass

import cdk8s
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3
from constructs import Construct
from pydantic import ConfigDict

from training_workloads import InputError, LustreVolumeChart
from training_workloads.catalog.versions import LUSTRE_VERSION

__all__ = ["LustreFileSystem", "LustreSpec", "LustreVolume"]

# PERSISTENT_2 on SSD: https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-storage-capacity.html
_SMALLEST_GIB = 1200
_STEP_GIB = 2400
_THROUGHPUTS = (125, 250, 500, 1000)

# https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
_PORTS = (ec2.Port.tcp(988), ec2.Port.tcp_range(1018, 1023))


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
        if self.capacity_gib != _SMALLEST_GIB and (self.capacity_gib < _STEP_GIB or self.capacity_gib % _STEP_GIB):
            larger = (
                _SMALLEST_GIB if self.capacity_gib < _SMALLEST_GIB else -(-self.capacity_gib // _STEP_GIB) * _STEP_GIB
            )
            raise InputError(
                f"'capacity_gib' is {self.capacity_gib}, which Lustre does not offer; "
                f"give {_SMALLEST_GIB} or a multiple of {_STEP_GIB}, such as {larger}"
            )
        if self.throughput_mbps_per_tib not in _THROUGHPUTS:
            allowed = ", ".join(map(str, _THROUGHPUTS))
            raise InputError(f"'throughput_mbps_per_tib' is {self.throughput_mbps_per_tib}; give one of {allowed}")


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
        for port in _PORTS:
            self.security_group.add_ingress_rule(self.security_group, port, "Lustre between its servers")
            self.security_group.add_ingress_rule(clients, port, "Lustre from its clients")
            clients.add_ingress_rule(self.security_group, port, "Lustre to its clients")
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
        # DELETED is in neither list: a removed file must not remove the object, nor the other way round.
        events = ["NEW", "CHANGED"]
        self.data_repository = fsx.CfnDataRepositoryAssociation(
            self,
            "DataRepository",
            file_system_id=self.file_system.ref,
            file_system_path="/",
            data_repository_path=f"s3://{bucket.bucket_name}",
            batch_import_meta_data_on_create=True,
            s3=fsx.CfnDataRepositoryAssociation.S3Property(
                auto_import_policy=fsx.CfnDataRepositoryAssociation.AutoImportPolicyProperty(events=events),
                auto_export_policy=fsx.CfnDataRepositoryAssociation.AutoExportPolicyProperty(events=events),
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
