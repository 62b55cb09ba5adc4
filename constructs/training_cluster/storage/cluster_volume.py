"""The base of the volumes of both file systems: the manifest, and the order of creation and deletion."""

from collections.abc import Iterable
from typing import Any, cast

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import imported_with, is_a
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import ClusterDefaults, after_node_addons
from training_cluster.single_owner import own
from training_cluster.stack_order import order_stacks
from training_cluster.suppressions import suppress_implied_dependency
from training_workloads.validation import Problems

__all__ = ["Volume", "share_with_teams", "valid_nodes"]


class Volume(Construct):
    """A static volume and its claim in a cluster.

    It opens the ports between the cluster's nodes and the file system. The rules are children of the volume: a file
    system in another stack does not refer to the cluster, so there is no cycle of stacks.

    Attributes:
        claim: Name of the claim.
        manifest: The volume and its claim.
    """

    manifest: eks.KubernetesManifest

    def __init__(
        self, scope: Construct, id: str, *, cluster: eks.ICluster | eks.Cluster, file_system: Any, claim: str
    ) -> None:
        """Own the name of the claim, and of the volume, in the cluster.

        Raises:
            InputError: Another construct owns the name, or the stack of the file system waits for this one.
        """
        order_stacks(scope, id, cluster=cluster, file_system=file_system)
        super().__init__(scope, id)
        self._cluster, self.claim = cast(eks.ICluster, cluster), claim
        own(self, self._cluster, f"volume {claim}")

    def _apply(self, id: str, chart: cdk8s.Chart, *, after: Iterable[Any]) -> eks.KubernetesManifest:
        """Apply objects when all that they need exists, and delete them first."""
        manifest = apply_manifest(self, id, cluster=self._cluster, documents=chart.to_json())
        suppress_implied_dependency(manifest)
        # Pods may mount it when the mount targets, the rules and the metadata of the bucket's objects exist, and all of
        # these must stay until the last pod has left. An imported file system of the CDK is no construct to jsii.
        manifest.node.add_dependency(*(each for each in after if isinstance(each, Construct)))
        after_node_addons(manifest, self._cluster)
        return manifest


def share_with_teams(volume: Volume, cluster: Any) -> None:
    """Give the teams of a cluster, those of later calls too, their folders of a volume that is complete."""
    if isinstance(cluster, ClusterDefaults):
        cluster.add_volume(volume)


def valid_nodes(name: str, cluster: Any, file_system: Any) -> Problems:
    """Reject a cluster that was imported without its security group, where rules must name it.

    A file system that was imported without a security group is open to the nodes already.
    """
    groups = getattr(getattr(file_system, "connections", None), "security_groups", None)
    if groups and is_a(cluster, "cluster_name"):
        what = "its security group, and the file system's ports are closed to its nodes"
        yield from imported_with(name, cluster, "cluster_security_group", what)
