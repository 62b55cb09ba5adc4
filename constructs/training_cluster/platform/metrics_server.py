"""The Kubernetes Metrics Server, for `kubectl top` and for Deployments that scale by their load."""

from typing import cast

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import AnyCluster
from training_cluster.lifecycle import after_node_addons
from training_cluster.platform.cluster_addon import cluster_addon
from training_cluster.single_owner import own
from training_workloads.keywords import checked

__all__ = ["MetricsServer"]


class MetricsServer(Construct):
    """EKS's community add-on metrics-server, on the nodes without GPUs.

    Attributes:
        addon: The add-on.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, cluster: AnyCluster) -> None:
        """Define the add-on, which needs no role.

        https://docs.aws.amazon.com/eks/latest/userguide/community-addons.html (read 2026-11-23)

        Args:
            cluster: The cluster: ours or one of `aws_eks_v2`.

        Raises:
            InputError: The cluster has one from another construct.
        """
        super().__init__(scope, id)
        own(self, cluster, "metrics server")
        self.addon = cluster_addon(self, "Resource", cluster=cast(eks.ICluster, cluster), name="metrics-server")
        after_node_addons(self, cluster)
