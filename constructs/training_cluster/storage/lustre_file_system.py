"""FSx for Lustre whose folders mirror prefixes of a bucket."""

from typing import Annotated, Any, cast

from aws_cdk import CfnDeletionPolicy, Duration, RemovalPolicy, Size, Token, Tokenization
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import Bucket, Key, KnownChecked, SecurityGroup, Subnet, Vpc
from training_cluster.identity.folder_access import warn_of_an_unknown_key
from training_cluster.network.security_group_rules import allow_all, allow_tcp
from training_cluster.stack_order import order_stacks
from training_cluster.storage.lustre_spec import WHOLE_GIB, LustreSpec
from training_workloads.catalog.versions import LUSTRE_VERSION
from training_workloads.keywords import keywords_of
from training_workloads.platform.file_systems import lustre_dns_name, lustre_id, lustre_mount_name
from training_workloads.spec import Converted, Spec
from training_workloads.validation import MISSING, Problem, Problems

__all__ = ["LustreFileSystem", "LustreFileSystemBase", "lustre_metric", "open_lustre_ports"]

# Every range of TCP ports, between the servers and between servers and clients, in both directions.
# https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
_PORTS = (range(988, 989), range(1018, 1024))

_EFA_RULE = "Lustre over EFA"

# One range for `connections`, as CDK's LustreFileSystem has it.
_DEFAULT_PORT = ec2.Port.tcp_range(_PORTS[0].start, _PORTS[-1].stop - 1)


def lustre_metric(file_system: fsx.IFileSystem, name: str, **options: Any) -> cloudwatch.Metric:
    """Return a metric of the namespace AWS/FSx.

    https://docs.aws.amazon.com/fsx/latest/LustreGuide/fs-metrics.html

    Args:
        file_system: The file system.
        name: Name of the metric, with the dimension FileSystemId alone.
        options: The CDK's options of a metric. Default: the statistic Sum, over the storage targets (OST) and the
            samples of a period, and the period of 1 minute, the distance of two samples: in a longer one Sum also adds
            up minutes.
    """
    defaults = {"statistic": "Sum", "period": Duration.minutes(1)}
    dimensions = {"FileSystemId": file_system.file_system_id}
    return cloudwatch.Metric(
        namespace="AWS/FSx", metric_name=name, dimensions_map=dimensions, **{**defaults, **options}
    )


class LustreFileSystemBase(fsx.FileSystemBase):
    """The interface of a file system of this library and of an imported one.

    Attributes:
        capacity_gib: Storage in GiB; text if it is a token.
        efa: Whether clients can reach it with EFA.
    """

    capacity_gib: int | str
    efa: bool
    _connections: ec2.Connections

    @property
    def connections(self) -> ec2.Connections:
        """Its security group, with the ports 988 to 1023 by default."""
        return self._connections

    @property
    def mount_name(self) -> str:
        """FSx's name for the root of the file system, which clients mount."""
        raise NotImplementedError

    def metric(self, name: str, **options: Any) -> cloudwatch.Metric:
        """Return a metric of the namespace AWS/FSx.

        Args:
            name: Name of the metric, with the dimension FileSystemId alone.
            options: The CDK's options of a metric. Default: the statistic Sum and the period of 1 minute.
        """
        return lustre_metric(cast(fsx.IFileSystem, self), name, **options)

    def metric_data_read_bytes(self, **options: Any) -> cloudwatch.Metric:
        """Return the bytes that clients read in a period. Default: 1 minute."""
        return self.metric("DataReadBytes", **options)

    def metric_data_write_bytes(self, **options: Any) -> cloudwatch.Metric:
        """Return the bytes that clients write in a period. Default: 1 minute."""
        return self.metric("DataWriteBytes", **options)

    def metric_free_data_storage_capacity(self, **options: Any) -> cloudwatch.Metric:
        """Return the free bytes. Default: every minute."""
        return self.metric("FreeDataStorageCapacity", **options)


class LustreFileSystemAttributes(Spec):
    """An existing file system.

    Attributes:
        file_system_id: `fs-…`.
        dns_name: DNS name that clients mount.
        mount_name: FSx's name for the root of the file system.
        capacity_gib: Storage, as a size or a whole number of GiB, as the volume shows it.
        security_group: The group of its network interfaces, which a `LustreVolume` opens to the nodes. Default: its
            rules admit the nodes on TCP 988 and 1018 to 1023 already.
    """

    file_system_id: Annotated[str, KnownChecked(lustre_id)]
    dns_name: Annotated[str, KnownChecked(lustre_dns_name)]
    mount_name: Annotated[str, KnownChecked(lustre_mount_name)]
    capacity_gib: Annotated[Converted[Size | float, int], WHOLE_GIB]
    security_group: SecurityGroup | None = None


class LustreFileSystemProps(LustreSpec):
    """The keywords of `LustreFileSystem`.

    Attributes:
        data_repositories: Up to 8 folders that mirror prefixes of the bucket. Default: one, root to root, where there
            is a bucket. Empty: none.
        vpc: The VPC of the subnet.
        subnet: Its subnet, in the zone of the nodes that use it.
        bucket: The bucket behind its data repositories. Default: none.
        encryption_key: Key of the stored files of PERSISTENT_2; SCRATCH_2 always has FSx's own. Default: FSx's own key.
    """

    vpc: Vpc
    subnet: Subnet
    bucket: Bucket | None = None
    encryption_key: Key | None = None


@LustreFileSystemProps.rule
def data_repositories_have_a_bucket(props: LustreFileSystemProps) -> Problems:
    """Reject data repositories without a bucket."""
    if props.bucket is None and props.given().get("data_repositories"):
        yield Problem(
            path=("bucket",),
            given=MISSING,
            allowed="its data repositories need one",
            fix="give a bucket, or no data repositories",
            related=(("data_repositories",),),
        )


class LustreFileSystem(LustreFileSystemBase):
    """A file system whose folders mirror prefixes of a bucket.

    New and changed objects appear as files, new and changed files are exported as objects. Deletions are exported
    only where a data repository has both keys for it: otherwise `rm` on Lustre never deletes an object.

    It has no backups: FSx makes none of a file system with data repositories, nor of a scratch one
    (https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateBackup.html). Export files that must be kept. It is
    deleted with its stack, but stays, outside the stack, where a deployment replaces it.

    Attributes:
        vpc: The VPC of its subnet.
        spec: Kind, size, speed and data repositories.
        file_system: The FSx file system.
        data_repositories: Its data repository associations, by their path in the file system.
        security_group: The group of its network interfaces.
    """

    @keywords_of(LustreFileSystemProps)
    def __init__(self, scope: Construct, id: str, props: LustreFileSystemProps) -> None:
        """Define the file system.

        Raises:
            InputError: FSx does not offer the combination, an argument is of another type, or its stack waits for
                this one.
        """
        vpc, subnet, bucket, encryption_key = props.vpc, props.subnet, props.bucket, props.encryption_key
        self.spec: LustreSpec = props if bucket else props.replaced(data_repositories=())
        order_stacks(scope, id, vpc=vpc, subnet=subnet, bucket=bucket, encryption_key=encryption_key)
        super().__init__(scope, id)
        self.vpc, self.efa, self.capacity_gib = vpc, props.efa, _as_text_if_token(props.capacity_gib)
        self.security_group = ec2.SecurityGroup(self, "SecurityGroup", vpc=vpc, description="FSx for Lustre")
        self._connections = ec2.Connections(security_groups=[self.security_group], default_port=_DEFAULT_PORT)
        self.file_system = self._create(subnet, encryption_key)
        # Data that must stay is in the bucket: the file system can be deleted with the cluster.
        self.apply_removal_policy(RemovalPolicy.DESTROY)
        # A replacement is often an accident, such as another zone. A snapshot would be no way: CloudFormation makes
        # none of FSx, and FSx none of a file system with data repositories.
        self.file_system.cfn_options.update_replace_policy = CfnDeletionPolicy.RETAIN
        self._connect_servers()
        self.data_repositories = self._associate(bucket) if bucket else {}
        if bucket:
            warn_of_an_unknown_key(self, bucket)

    @staticmethod
    @keywords_of(LustreFileSystemAttributes)
    def from_lustre_file_system_attributes(
        scope: Construct, id: str, attributes: LustreFileSystemAttributes
    ) -> LustreFileSystemBase:
        """Import an existing file system; `aws fsx describe-file-systems` shows its values.

        Raises:
            InputError: A value is not of a Lustre file system.
        """
        return _ImportedLustreFileSystem(scope, id, attributes)

    def _create(self, subnet: ec2.ISubnet, encryption_key: kms.IKey | None) -> fsx.CfnFileSystem:
        persistent = self.spec.deployment_type == "PERSISTENT_2"
        automatic = fsx.CfnFileSystem.MetadataConfigurationProperty(mode="AUTOMATIC")
        return fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=LUSTRE_VERSION,
            storage_type="SSD",
            storage_capacity=self.spec.capacity_gib,
            subnet_ids=[subnet.subnet_id],
            security_group_ids=[self.security_group.security_group_id],
            kms_key_id=encryption_key.key_arn if encryption_key and persistent else None,
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type=self.spec.deployment_type,
                per_unit_storage_throughput=self.spec.mbps_per_tib if persistent else None,
                data_compression_type="LZ4",
                efa_enabled=True if self.efa else None,
                # FSx accepts EFA only together with a metadata configuration; AUTOMATIC grows with the storage.
                metadata_configuration=automatic if self.efa else None,
            ),
        )

    def _connect_servers(self) -> None:
        """Open the ports between the servers before FSx creates them.

        FSx checks that the servers reach each other, with EFA by all traffic within their group. It does not know the
        clients: their rules may come later, with the volume.
        https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html#efa-security-groups
        """
        group = self.security_group
        between = "Lustre between its servers"
        rules = [
            allow_tcp(self, f"Servers{ports.start}", group=group, peer=group, ports=ports, description=between)
            for ports in _PORTS
        ]
        if self.efa:
            scope = Construct(self, "Efa")
            rules += allow_all(scope, "ServersIn", "ServersOut", group=group, peer=group, description=_EFA_RULE)
        for rule in rules:
            self.file_system.add_resource_dependency(rule)

    def _associate(self, bucket: s3.IBucket) -> dict[str, fsx.CfnDataRepositoryAssociation]:
        association = fsx.CfnDataRepositoryAssociation
        scope, imported = Construct(self, "DataRepository"), ["NEW", "CHANGED"]
        return {
            repository.path: association(
                scope,
                repository.path.strip("/") or "Default",
                file_system_id=self.file_system_id,
                file_system_path=repository.path,
                data_repository_path="/".join(filter(None, (f"s3://{bucket.bucket_name}", repository.prefix))),
                batch_import_meta_data_on_create=True,
                s3=association.S3Property(
                    auto_import_policy=association.AutoImportPolicyProperty(events=imported),
                    auto_export_policy=association.AutoExportPolicyProperty(
                        events=[*imported, "DELETED"] if repository.export_deletions else imported
                    ),
                ),
            )
            for repository in self.spec.data_repositories
        }

    @property
    def file_system_id(self) -> str:
        """`fs-…`, a token."""
        return self.file_system.ref

    @property
    def dns_name(self) -> str:
        """DNS name that clients mount."""
        return self.file_system.attr_dns_name

    @property
    def mount_name(self) -> str:
        """FSx's name for the root of the file system, which clients mount."""
        return self.file_system.attr_lustre_mount_name


class _ImportedLustreFileSystem(LustreFileSystemBase):
    def __init__(self, scope: Construct, id: str, attributes: LustreFileSystemAttributes) -> None:
        super().__init__(scope, id)
        self._attributes = attributes
        # Nodes use TCP: whether EFA is open between them and the file system is not known.
        self.efa, self.capacity_gib = False, _as_text_if_token(attributes.capacity_gib)
        groups = [attributes.security_group] if attributes.security_group else []
        self._connections = ec2.Connections(security_groups=groups, default_port=_DEFAULT_PORT)

    @property
    def file_system_id(self) -> str:
        return self._attributes.file_system_id

    @property
    def dns_name(self) -> str:
        return self._attributes.dns_name

    @property
    def mount_name(self) -> str:
        return self._attributes.mount_name


def open_lustre_ports(
    scope: Construct, file_system: LustreFileSystemBase | fsx.LustreFileSystem, clients: ec2.ISecurityGroup
) -> None:
    """Define the rules between the servers of a file system and its clients, in both directions."""
    for number, servers in enumerate(file_system.connections.security_groups):
        rules = Construct(scope, str(number))
        for ports in _PORTS:
            start = ports.start
            inward, outward = "Lustre from its clients", "Lustre to its clients"
            allow_tcp(rules, f"Servers{start}", group=servers, peer=clients, ports=ports, description=inward)
            allow_tcp(rules, f"Clients{start}", group=clients, peer=servers, ports=ports, description=outward)
        if isinstance(file_system, LustreFileSystemBase) and file_system.efa:
            allow_all(rules, "EfaServersIn", "EfaServersOut", group=servers, peer=clients, description=_EFA_RULE)
            allow_all(rules, "EfaClientsIn", "EfaClientsOut", group=clients, peer=servers, description=_EFA_RULE)


def _as_text_if_token(gib: int) -> int | str:
    return Tokenization.stringify_number(gib) if Token.is_unresolved(gib) else gib
