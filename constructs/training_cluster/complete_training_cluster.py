"""The complete training cluster: network, EKS, GPU nodes, file systems, platform and monitoring in one construct."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import Bucket, Key
from training_cluster.cluster.training_cluster import TrainingCluster
from training_cluster.config import ClusterConfig
from training_cluster.imported_site import imported_efs, imported_lustre, imported_vpc
from training_cluster.monitoring.cost import CostEstimate, hourly_cost
from training_cluster.network.endpoints import service_names
from training_cluster.network.training_network import TrainingNetwork, private_subnets
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.nodes.system_nodes import SYSTEM_NODES
from training_cluster.storage.elastic_file_system import ElasticVolume
from training_cluster.storage.lustre_file_system import LustreFileSystem, LustreFileSystemBase
from training_cluster.storage.lustre_spec import LustreSpec
from training_cluster.storage.lustre_volume import LustreVolume
from training_workloads.catalog.lustre import lustre_throughput_mbps
from training_workloads.catalog.versions import SYSTEM_INSTANCE_TYPE
from training_workloads.jobs.volumes import LUSTRE_CLAIM
from training_workloads.keywords import checked
from training_workloads.planning.storage_sizing import IMAGENET_BYTES_PER_IMAGE

__all__ = ["CompleteTrainingCluster"]


class CompleteTrainingCluster(Construct):
    """Everything that a configuration describes, in any stack, stage or region.

    Attributes:
        config: The configuration.
        network: The VPC, a `TrainingNetwork` unless the configuration names an existing one.
        cluster: The EKS cluster.
        node_groups: GPU node groups by name.
        file_systems: The Lustre file systems: that of the training zone first, those of `lustre.further_zones` in their
            order, or the one of `existing_lustre`.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ClusterConfig,
        bucket: Bucket,
        encryption_key: Key | None = None,
    ) -> None:
        """Define the parts.

        Args:
            config: Everything that can be chosen. Its `monthly_budget_usd` has no effect here: `TrainingDataStack`, or
                a `TrainingBudget` of your own, defines the budget, because it outlives a cluster. Nor has its
                `sagemaker`: see `CompleteSageMakerTraining`.
            bucket: The bucket of datasets, checkpoints and results.
            encryption_key: Key of secrets, volumes, file systems and logs. Default: the services' own keys.

        Raises:
            InputError: `config` is not a `ClusterConfig`, or another argument is of another type.
        """
        super().__init__(scope, id)
        self.config, self._key = config, encryption_key
        self.network = self._network()
        self.cluster = self._add_cluster()
        self.node_groups = {
            name: self.cluster.add_gpu_node_group(
                name,
                subnet=self._subnet(group.availability_zone or config.training_zone),
                **group.given(GpuNodeGroupSpec),
            )
            for name, group in config.node_groups.items()
        }
        self.file_systems = self._existing_lustre() if config.existing_lustre else self._add_lustre(bucket)
        self._add_efs()
        of_teams = {team.namespace_of(name) for name, team in config.teams.items()}
        namespaces = {account.namespace for account in config.service_accounts.values()} - of_teams
        self.cluster.add_namespaces(namespaces)
        for name, account in config.service_accounts.items():
            self.cluster.add_job_identity(name, bucket=bucket, encryption_key=encryption_key, **account.given())
        self.cluster.add_platform("Platform", gang_scheduler=config.gang_scheduler, mirror=config.mirror)
        if config.pre_pull_images:
            self.cluster.add_pre_pulled_images("PrePulledImages", images=config.pre_pull_images)
        self._add_options()
        self.cluster.add_monitoring(
            "Monitoring",
            alarm_email=config.alarm_email,
            file_system=self.file_system,
            gpu_details=config.gpu_details,
            mirror=config.mirror,
        )
        self._add_outputs()

    def _network(self) -> ec2.IVpc:
        config = self.config
        if config.existing_vpc:
            self._warn_of_missing_endpoints()
            return imported_vpc(self, config.existing_vpc, config.availability_zones)
        return TrainingNetwork(
            self,
            "Network",
            cidr=config.vpc_cidr,
            availability_zones=config.availability_zones,
            training_zone=config.training_zone,
            nat=config.nat,
            ssm=self._has_ssm,
            encryption_key=self._key,
        )

    @property
    def _has_ssm(self) -> bool:
        return any(group.ssm for group in self.config.node_groups.values())

    def _warn_of_missing_endpoints(self) -> None:
        """List the endpoints that an existing VPC without NAT must have: synthesis does not see them."""
        # Without a mirror, charts come from the internet, and the VPC must have a way there.
        if self.config.mirror:
            services = ", ".join(service_names(ssm=self._has_ssm))
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:endpoints-of-existing-vpc",
                "'existing_vpc' needs NAT, or a gateway endpoint of S3 and interface endpoints with private DNS names "
                f"of {services}; without them nodes do not join, and the deployment fails",
            )

    def _subnet(self, zone: str | None) -> ec2.ISubnet:
        """Return the node subnet of a zone; without names of zones there is one training zone."""
        subnets = private_subnets(self.network)
        return subnets[self.config.availability_zones.index(zone) if zone else 0]

    @property
    def file_system(self) -> LustreFileSystemBase:
        """The first Lustre file system, which jobs mount by default."""
        return self.file_systems[0]

    def _add_lustre(self, bucket: s3.IBucket) -> tuple[LustreFileSystemBase, ...]:
        """Add a file system in the training zone, which jobs mount by default, and one in each further zone."""
        config = self.config
        common: dict[str, Any] = {"bucket": bucket, "mirror": config.mirror, **config.lustre.given(LustreSpec)}
        self.cluster.add_lustre("Lustre", subnet=self._subnet(config.training_zone), **common)
        for zone in config.lustre.further_zones:
            subnet = self._subnet(zone)
            self.cluster.add_lustre(f"Lustre-{zone}", subnet=subnet, claim=f"{LUSTRE_CLAIM}-{zone}", **common)
        return self.cluster.file_systems

    def _existing_lustre(self) -> tuple[LustreFileSystemBase, ...]:
        assert self.config.existing_lustre
        file_system = imported_lustre(self, self.config.existing_lustre)
        LustreVolume(self, "LustreVolume", cluster=self.cluster, file_system=file_system, mirror=self.config.mirror)
        return (file_system,)

    def _add_efs(self) -> None:
        existing = self.config.existing_efs
        if self.config.efs:
            self.cluster.add_efs("Efs")
        elif existing:
            ElasticVolume(self, "EfsVolume", cluster=self.cluster, file_system=imported_efs(self, existing))

    def _add_options(self) -> None:
        if self.config.job_queue:
            self.cluster.add_job_queue("JobQueue", mirror=self.config.mirror, **self.config.job_queue.given())
        for name, team in self.config.teams.items():
            self.cluster.add_team(name, **team.given())
        if self.config.ebs:
            self.cluster.add_ebs_driver("EbsDriver")
        if self.config.metrics_server:
            self.cluster.add_metrics_server("MetricsServer")

    def _add_cluster(self) -> TrainingCluster:
        if not self.config.admin_arns:
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:no-admin",
                "'admin_arns' is empty, so no user can use kubectl; add the ARN of your IAM role or user",
            )
        return TrainingCluster(
            self,
            "Cluster",
            vpc=self.network,
            kubernetes_version=self.config.kubernetes_version,
            public_access_cidrs=self.config.public_access_cidrs,
            allow_any_address=self.config.allow_any_address,
            admin_arns=self.config.admin_arns,
            encryption_key=self._key,
            efs=self.config.efs or self.config.existing_efs is not None,
            system_nodes=self.config.system_nodes,
        )

    def _add_outputs(self) -> None:
        region, name = Stack.of(self).region, self.cluster.cluster_name
        kubeconfig = f"aws eks update-kubeconfig --region {region} --name {name}"
        CfnOutput(self, "KubeconfigCommand", value=kubeconfig)
        CfnOutput(self, "FileSystemId", value=self.file_system.file_system_id)
        for zone, further in zip(self.config.lustre.further_zones, self.file_systems[1:], strict=True):
            CfnOutput(self, f"FileSystemId-{zone}", value=further.file_system_id)
        if isinstance(self.file_system, LustreFileSystem):
            CfnOutput(self, "LustreThroughput", value=_throughput_sentence(self.file_system.spec))
        CfnOutput(self, "EstimatedCostPerHour", value=self._cost_sentence())

    def _cost_sentence(self) -> str:
        """Return both limits of the autoscaler, at On-Demand prices."""
        specs = [group.spec for group in self.node_groups.values()]
        deployed = self._cost((spec, spec.desired) for spec in specs)
        largest = self._cost((spec, spec.maximum) for spec in specs)
        return f"{deployed.total} as deployed; with every node group at its max_size, On-Demand, {largest}"

    def _cost(self, sizes: Iterable[tuple[GpuNodeGroupSpec, int]]) -> CostEstimate:
        nodes = Counter({SYSTEM_INSTANCE_TYPE: SYSTEM_NODES})
        for spec, size in sizes:
            nodes[spec.instance_type] += size
        return hourly_cost(
            nodes=nodes,
            nat_gateways=int(self.config.nat and not self.config.existing_vpc),
            interface_endpoints=self._endpoint_interfaces(),
            kubernetes_version=self.config.kubernetes_version,
        )

    def _endpoint_interfaces(self) -> int:
        """Return how many interfaces AWS bills by the hour: each endpoint has one in each of its zones."""
        network = self.network
        if not isinstance(network, TrainingNetwork) or network.endpoints is None:
            return 0
        return len(network.endpoints.endpoints) * len(network.node_subnets)


def _throughput_sentence(lustre: LustreSpec) -> str:
    mbps = lustre_throughput_mbps(lustre.capacity_gib, lustre.mbps_per_tib)
    images = mbps * 1e6 / IMAGENET_BYTES_PER_IMAGE
    return (
        f"{lustre.capacity_gib} GiB at {lustre.mbps_per_tib} MB/s per TiB sustain {mbps:,.0f} MB/s: {images:,.0f} "
        f"images/s of {IMAGENET_BYTES_PER_IMAGE / 1e3:.0f} kB (trainctl platform size-lustre sizes another job)"
    )
