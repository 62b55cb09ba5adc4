"""FSx for Lustre linked to S3."""

from aws_cdk import Token, Tokenization
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import check_is, check_vpc
from training_cluster.storage.lustre_spec import DataRepositorySpec, LustreSpec
from training_workloads.catalog.versions import LUSTRE_VERSION

__all__ = ["LustreFileSystem"]

# https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
_PORTS = (range(988, 989), range(1018, 1024))

_ALL_TRAFFIC = "-1"
_EFA_RULE = "Lustre over EFA"


class LustreFileSystem(Construct):
    """A file system whose folders mirror prefixes of a bucket.

    New and changed objects appear as files, new and changed files are exported as objects. Deletions are exported
    only where the spec says so twice: otherwise `rm` on Lustre never deletes an object.

    It has no backups: FSx makes none of a file system that is linked to a data repository, nor of a scratch one
    (https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateBackup.html). What must be kept is exported.

    Attributes:
        spec: Kind, size, speed and links.
        file_system: The FSx file system.
        data_repositories: Its links to the bucket, by their path in the file system.
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
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Defines the file system.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            vpc: The VPC of the subnet.
            subnet: Where it lives; the zone of the nodes that use it.
            clients: Security group of the nodes that mount it.
            bucket: The bucket behind it.
            spec: Kind, size, speed and links. Default: PERSISTENT_2, 1200 GiB at 125 MB/s per TiB, root to root.
            encryption_key: Key of the stored files. Default, and always with SCRATCH_2: FSx's own key.

        Raises:
            InputError: `spec` or `vpc` is of another type.
        """
        super().__init__(scope, id)
        check_vpc("vpc", vpc)
        self.spec = LustreSpec() if spec is None else spec
        check_is("spec", self.spec, LustreSpec)
        self.security_group = ec2.SecurityGroup(self, "SecurityGroup", vpc=vpc, description="FSx for Lustre")
        self.file_system = self._create(subnet, encryption_key)
        self._open_ports(clients)
        if self.spec.efa:
            self._open_efa(clients)
        links = Construct(self, "DataRepository")
        self.data_repositories = {
            repository.path: self._link(links, bucket, repository) for repository in self.spec.data_repositories
        }

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
                efa_enabled=True if self.spec.efa else None,
                # FSx takes EFA only together with a metadata configuration; AUTOMATIC grows with the storage.
                metadata_configuration=automatic if self.spec.efa else None,
            ),
        )

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
            self.file_system.add_resource_dependency(between_servers)
            tcp = ec2.Port.tcp_range(port.start, port.stop - 1)
            self.security_group.add_ingress_rule(clients, tcp, "Lustre from its clients")
            clients.add_ingress_rule(self.security_group, tcp, "Lustre to its clients")

    def _open_efa(self, clients: ec2.ISecurityGroup) -> None:
        """Opens all traffic within the group, and between it and the clients, in both directions.

        EFA bypasses the IP stack: only rules that name the other group cover it, so they are made on the L1, where
        open egress does not swallow them, and FSx looks for them when it makes the file system.
        https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html#efa-security-groups
        """
        servers, nodes = self.security_group.security_group_id, clients.security_group_id
        rules = Construct(self, "Efa")
        for name, here, there in (
            ("Servers", servers, servers),
            ("Clients", servers, nodes),
            ("FromClients", nodes, servers),
        ):
            incoming = ec2.CfnSecurityGroupIngress(
                rules,
                f"{name}In",
                group_id=here,
                source_security_group_id=there,
                ip_protocol=_ALL_TRAFFIC,
                description=_EFA_RULE,
            )
            outgoing = ec2.CfnSecurityGroupEgress(
                rules,
                f"{name}Out",
                group_id=here,
                destination_security_group_id=there,
                ip_protocol=_ALL_TRAFFIC,
                description=_EFA_RULE,
            )
            for rule in (incoming, outgoing):
                self.file_system.add_resource_dependency(rule)

    def _link(
        self, scope: Construct, bucket: s3.IBucket, repository: DataRepositorySpec
    ) -> fsx.CfnDataRepositoryAssociation:
        association = fsx.CfnDataRepositoryAssociation
        imported = ["NEW", "CHANGED"]
        exported = [*imported, "DELETED"] if repository.export_deletions else imported
        return association(
            scope,
            repository.path.strip("/") or "Default",
            file_system_id=self.file_system_id,
            file_system_path=repository.path,
            data_repository_path="/".join(filter(None, (f"s3://{bucket.bucket_name}", repository.prefix))),
            batch_import_meta_data_on_create=True,
            s3=association.S3Property(
                auto_import_policy=association.AutoImportPolicyProperty(events=imported),
                auto_export_policy=association.AutoExportPolicyProperty(events=exported),
            ),
        )

    @property
    def file_system_id(self) -> str:
        """`fs-…`, known at deployment."""
        return self.file_system.ref

    @property
    def dns_name(self) -> str:
        """DNS name that clients mount."""
        return self.file_system.attr_dns_name

    @property
    def mount_name(self) -> str:
        """FSx's name for the root of the file system, which clients mount."""
        return self.file_system.attr_lustre_mount_name

    @property
    def capacity_gib(self) -> int | str:
        """Storage in GiB; text that stands for it where only the deployment knows it."""
        gib = self.spec.capacity_gib
        return Tokenization.stringify_number(gib) if Token.is_unresolved(gib) else gib
