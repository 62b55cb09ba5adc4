"""How a static volume and its claim get into the cluster, whatever file system is behind them."""

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.suppressions import accept_implied_dependency

__all__ = ["volume_manifest"]


def volume_manifest(
    scope: Construct, *, cluster: eks.ICluster, chart: cdk8s.Chart, file_system: object
) -> eks.KubernetesManifest:
    """Applies the chart of a volume.

    Args:
        scope: The construct of the volume.
        cluster: The cluster with the driver of the file system.
        chart: The volume and its claim.
        file_system: What the volume mounts; one that was made elsewhere is no construct.
    """
    manifest = eks.KubernetesManifest(scope, "Resource", cluster=cluster, manifest=chart.to_json())
    accept_implied_dependency(manifest)
    if isinstance(file_system, Construct):
        # Pods may mount it when all of it is there (the mount target, the open ports, the metadata of the bucket's
        # objects), and all of it must stay until the last pod has let go.
        manifest.node.add_dependency(file_system)
    return manifest
