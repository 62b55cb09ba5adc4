"""The parts of every training cluster for its jobs: device plugins, autoscaler and MPI operator."""

from constructs import Construct

from training_cluster.checks import Cluster, Mirror, RunningVersion
from training_cluster.lifecycle import ClusterDefaults
from training_cluster.platform.cluster_autoscaler import ClusterAutoscaler
from training_cluster.platform.device_plugins import EfaDevicePlugin, NvidiaDevicePlugin
from training_cluster.platform.mpi_operator import MpiOperator
from training_workloads.keywords import checked

__all__ = ["TrainingPlatform"]


class TrainingPlatform(Construct):
    """Device plugins, autoscaler and MPI operator.

    Attributes:
        nvidia_device_plugin: NVIDIA's device plugin.
        efa_device_plugin: AWS's EFA device plugin; None until `add_efa_device_plugin`.
        autoscaler: The Cluster Autoscaler.
        mpi_operator: The MPI operator.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: Cluster,
        gang_scheduler: str | None = None,
        kubernetes_version: RunningVersion | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        """Define the parts.

        Args:
            cluster: The cluster: ours or one of `aws_eks_v2`.
            gang_scheduler: Scheduler that starts all workers of a job together or not at all: `volcano`, or the name
                of one with the coscheduling plugin. Install it in the cluster. Default: none.
            kubernetes_version: Release of the cluster. Default: that of a cluster of ours, else the newest.
            mirror: ECR registry with copies of charts and images. Default: the upstream registries.

        Raises:
            InputError: The cluster has one of the parts from another construct, or an argument has no valid value.
        """
        super().__init__(scope, id)
        self._cluster, self._mirror = cluster, mirror
        self.nvidia_device_plugin = NvidiaDevicePlugin(self, "NvidiaDevicePlugin", cluster=cluster, mirror=mirror)
        self.efa_device_plugin: EfaDevicePlugin | None = None
        self.autoscaler = ClusterAutoscaler(
            self, "Autoscaler", cluster=cluster, kubernetes_version=kubernetes_version, mirror=mirror
        )
        self.mpi_operator = MpiOperator(
            self, "MpiOperator", cluster=cluster, gang_scheduler=gang_scheduler, mirror=mirror
        )

        if isinstance(cluster, ClusterDefaults):
            cluster.platform = self
            cluster.add_efa_plugin()

    def add_efa_device_plugin(self) -> EfaDevicePlugin:
        """Return the EFA device plugin; the first call defines it."""
        if self.efa_device_plugin is None:
            self.efa_device_plugin = EfaDevicePlugin(
                self, "EfaDevicePlugin", cluster=self._cluster, mirror=self._mirror
            )
        return self.efa_device_plugin
