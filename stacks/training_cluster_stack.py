"""The stack that costs money by the hour and can be destroyed any evening."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster import (
    ClusterAutoscaler,
    ClusterConfig,
    ClusterMonitoring,
    CostEstimate,
    EfaDevicePlugin,
    ElasticFileSystem,
    ElasticVolume,
    GpuNodeGroup,
    JobIdentity,
    LustreFileSystem,
    LustreVolume,
    MpiOperator,
    Namespaces,
    NvidiaDevicePlugin,
    TrainingCluster,
    TrainingNetwork,
    hourly_cost,
)
from training_cluster.nodes.system_nodes import SYSTEM_NODES
from training_cluster.storage.lustre_spec import LustreSpec
from training_workloads.catalog.lustre import lustre_throughput_mbps
from training_workloads.catalog.versions import SYSTEM_INSTANCE_TYPE
from training_workloads.planning.storage_sizing import IMAGENET_BYTES_PER_IMAGE

__all__ = ["TrainingClusterStack"]


class TrainingClusterStack(Stack):
    """Network, EKS, GPU node groups, file systems, plugins, autoscaler, operator and metrics, put together.

    Attributes:
        config: What the stack was made from.
        network: The VPC.
        cluster: The EKS cluster.
        node_groups: GPU node groups by name.
        file_system: The Lustre file system.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ClusterConfig,
        bucket: s3.IBucket,
        encryption_key: kms.IKey | None = None,
        **kwargs: Any,
    ) -> None:
        """Defines the stack.

        Args:
            scope: The app.
            id: Name of the stack.
            config: Everything that can be chosen.
            bucket: The bucket behind the file system.
            encryption_key: Key of secrets, volumes, file systems and logs. Default: the services' own keys.
            **kwargs: Those of `aws_cdk.Stack`.
        """
        super().__init__(scope, id, **kwargs)
        self.config, self._key = config, encryption_key
        self.network = TrainingNetwork(
            self,
            "Network",
            cidr=config.vpc_cidr,
            availability_zones=config.availability_zones,
            training_zone=config.training_zone,
            nat=config.nat,
            encryption_key=encryption_key,
        )
        self._control_plane = self._add_cluster()
        if self.network.endpoints:
            # On the way down too: kubectl reaches AWS through them until its last manifest is gone.
            self._control_plane.node.add_dependency(self.network.endpoints)
        self.cluster = self._control_plane.cluster
        self.node_groups = self._add_node_groups()
        self.file_system = self._add_lustre(bucket)
        self._add_service_accounts(bucket)
        if config.efs:
            self._add_efs()
        self._add_platform()
        self._add_monitoring()
        self._add_outputs()
        self._warn()

    def _add_cluster(self) -> TrainingCluster:
        return TrainingCluster(
            self,
            "Cluster",
            vpc=self.network.vpc,
            kubernetes_version=self.config.kubernetes_version,
            public_access_cidrs=self.config.public_access_cidrs,
            allow_any_address=self.config.allow_any_address,
            admin_arns=self.config.admin_arns,
            encryption_key=self._key,
            efs=self.config.efs,
        )

    def _add_node_groups(self) -> dict[str, GpuNodeGroup]:
        scope = Construct(self, "NodeGroups")
        scope.node.add_dependency(self._control_plane.network_addons)
        return {
            name: GpuNodeGroup(
                scope,
                name,
                cluster=self.cluster,
                vpc=self.network.vpc,
                subnet=self.network.training_subnet,
                spec=spec,
                encryption_key=self._key,
                kubernetes_version=self.config.kubernetes_version,
            )
            for name, spec in self.config.node_groups.items()
        }

    def _add_lustre(self, bucket: s3.IBucket) -> LustreFileSystem:
        file_system = LustreFileSystem(
            self,
            "Lustre",
            vpc=self.network.vpc,
            subnet=self.network.training_subnet,
            bucket=bucket,
            deployment_type=self.config.lustre.deployment_type,
            capacity=self.config.lustre.capacity_gib,
            throughput_mbps_per_tib=self.config.lustre.throughput_mbps_per_tib,
            efa=self.config.lustre.efa,
            data_repositories=self.config.lustre.data_repositories,
            encryption_key=self._key,
        )
        volume = LustreVolume(
            self, "LustreVolume", cluster=self.cluster, file_system=file_system, mirror=self.config.mirror
        )
        # On the way down too: the driver must be there until the last pod has let go of the volume.
        volume.node.add_dependency(self._control_plane.node_addons)
        return file_system

    def _add_efs(self) -> None:
        file_system = ElasticFileSystem(
            self,
            "Efs",
            vpc=self.network.vpc,
            # Notebooks run on the system nodes too, which are in every zone.
            subnets=self.network.private_subnets,
            encryption_key=self._key,
        )
        volume = ElasticVolume(self, "EfsVolume", cluster=self.cluster, file_system=file_system)
        volume.node.add_dependency(self._control_plane.node_addons)

    def _add_service_accounts(self, bucket: s3.IBucket) -> None:
        scope = Construct(self, "ServiceAccounts")
        scope.node.add_dependency(self._control_plane.network_addons)
        namespaces = Namespaces(
            self,
            "Namespaces",
            cluster=self.cluster,
            names={spec.namespace for spec in self.config.service_accounts.values()},
        )
        scope.node.add_dependency(namespaces)
        for name, spec in self.config.service_accounts.items():
            JobIdentity(
                scope,
                name,
                cluster=self.cluster,
                bucket=bucket,
                prefix=spec.prefix,
                service_account=name,
                namespace=spec.namespace,
                allow_delete=spec.allow_delete,
                encryption_key=self._key,
            )

    def _add_platform(self) -> None:
        scope = Construct(self, "Platform")
        # Their pods need nodes, and the agent that gives them their role.
        scope.node.add_dependency(self._control_plane.node_addons)
        mirror = self.config.mirror
        NvidiaDevicePlugin(scope, "NvidiaDevicePlugin", cluster=self.cluster, mirror=mirror)
        if any(group.efa_security_group for group in self.node_groups.values()):
            EfaDevicePlugin(scope, "EfaDevicePlugin", cluster=self.cluster, mirror=mirror)
        ClusterAutoscaler(
            scope,
            "Autoscaler",
            cluster=self.cluster,
            kubernetes_version=self.config.kubernetes_version,
            mirror=mirror,
        )
        gang_scheduler = self.config.gang_scheduler
        MpiOperator(scope, "MpiOperator", cluster=self.cluster, gang_scheduler=gang_scheduler, mirror=mirror)

    def _add_monitoring(self) -> None:
        monitoring = ClusterMonitoring(
            self,
            "Monitoring",
            cluster=self.cluster,
            file_system=self.file_system,
            alarm_email=self.config.alarm_email,
            encryption_key=self._key,
        )
        monitoring.node.add_dependency(self._control_plane.node_addons)

    def _add_outputs(self) -> None:
        kubeconfig = f"aws eks update-kubeconfig --region {self.region} --name {self.cluster.cluster_name}"
        CfnOutput(self, "KubeconfigCommand", value=kubeconfig)
        CfnOutput(self, "FileSystemId", value=self.file_system.file_system.ref)
        CfnOutput(self, "LustreThroughput", value=_throughput_sentence(self.config.lustre))
        CfnOutput(self, "EstimatedCostPerHour", value=self._cost_sentence())

    def _cost_sentence(self) -> str:
        """Both ends of what the autoscaler may do, at On-Demand prices."""
        specs = self.config.node_groups.values()
        deployed = self._cost([(spec.instance_type, spec.desired) for spec in specs])
        largest = self._cost([(spec.instance_type, spec.maximum) for spec in specs])
        return f"{deployed.total} as deployed; with every node group at its max_size, On-Demand, {largest}"

    def _cost(self, sizes: Iterable[tuple[str, int]]) -> CostEstimate:
        nodes = Counter({SYSTEM_INSTANCE_TYPE: SYSTEM_NODES})
        for instance_type, size in sizes:
            nodes[instance_type] += size
        return hourly_cost(nodes=nodes, nat_gateways=int(self.config.nat))

    def _warn(self) -> None:
        if not self.config.admin_arns:
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:no-admin",
                "'admin_arns' is empty, so nobody can use kubectl; add the ARN of your IAM role or user",
            )


def _throughput_sentence(lustre: LustreSpec) -> str:
    mbps = lustre_throughput_mbps(lustre.capacity_gib, lustre.mbps_per_tib)
    images = mbps * 1e6 / IMAGENET_BYTES_PER_IMAGE
    return (
        f"{lustre.capacity_gib} GiB at {lustre.mbps_per_tib} MB/s per TiB sustain {mbps:,.0f} MB/s: {images:,.0f} "
        f"images/s of {IMAGENET_BYTES_PER_IMAGE / 1e3:.0f} kB (training-workloads size-lustre sizes another job)"
    )
