"""The stack that costs money by the hour and can be destroyed any evening."""

from typing import Any

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster import (
    ClusterConfig,
    EfaDevicePlugin,
    GpuNodeGroup,
    LustreFileSystem,
    LustreVolume,
    MpiOperator,
    NvidiaDevicePlugin,
    TrainingCluster,
    TrainingNetwork,
)

__all__ = ["TrainingClusterStack"]


class TrainingClusterStack(Stack):
    """Network, EKS, GPU node groups, Lustre, device plugins and the MPI operator, put together.

    Attributes:
        config: What the stack was made from.
        network: The VPC.
        cluster: The EKS cluster.
        node_groups: GPU node groups by name.
        file_system: The Lustre file system.
    """

    def __init__(self, scope: Construct, id: str, *, config: ClusterConfig, bucket: s3.IBucket, **kwargs: Any) -> None:
        """Defines the stack.

        Args:
            scope: The app.
            id: Name of the stack.
            config: Everything that can be chosen.
            bucket: The bucket behind the file system.
            **kwargs: Those of `aws_cdk.Stack`.
        """
        super().__init__(scope, id, **kwargs)
        self.config = config
        self.network = TrainingNetwork(
            self, "Network", cidr=config.vpc_cidr, availability_zones=config.availability_zones
        )
        control_plane = TrainingCluster(
            self,
            "Cluster",
            vpc=self.network.vpc,
            public_access_cidrs=config.public_access_cidrs,
            admin_arns=config.admin_arns,
        )
        self.cluster = control_plane.cluster
        self.node_groups = self._add_node_groups(control_plane.network_addons)
        self.file_system = LustreFileSystem(
            self,
            "Lustre",
            vpc=self.network.vpc,
            subnet=self.network.training_subnet,
            clients=self.cluster.cluster_security_group,
            bucket=bucket,
            spec=config.lustre,
        )
        self._add_platform(control_plane.node_addons)
        self._add_outputs()
        if not config.admin_arns:
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:no-admin",
                "'admin_arns' is empty, so nobody can use kubectl; add the ARN of your IAM role or user",
            )

    def _add_node_groups(self, network_addons: Construct) -> dict[str, GpuNodeGroup]:
        scope = Construct(self, "NodeGroups")
        scope.node.add_dependency(network_addons)
        return {
            name: GpuNodeGroup(
                scope,
                name,
                cluster=self.cluster,
                vpc=self.network.vpc,
                subnet=self.network.training_subnet,
                spec=spec,
            )
            for name, spec in self.config.node_groups.items()
        }

    def _add_platform(self, node_addons: Construct) -> None:
        NvidiaDevicePlugin(self, "NvidiaDevicePlugin", cluster=self.cluster)
        if any(group.efa_security_group for group in self.node_groups.values()):
            EfaDevicePlugin(self, "EfaDevicePlugin", cluster=self.cluster)
        MpiOperator(self, "MpiOperator", cluster=self.cluster)
        volume = LustreVolume(self, "LustreVolume", cluster=self.cluster, file_system=self.file_system)
        # On the way down too: the driver must be there until the last pod has let go of the volume.
        volume.node.add_dependency(node_addons)

    def _add_outputs(self) -> None:
        kubeconfig = f"aws eks update-kubeconfig --region {self.region} --name {self.cluster.cluster_name}"
        CfnOutput(self, "KubeconfigCommand", value=kubeconfig)
        CfnOutput(self, "FileSystemId", value=self.file_system.file_system.ref)
