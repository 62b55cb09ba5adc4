"""An add-on of EKS beside those that every cluster of this library has."""

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

__all__ = ["cluster_addon"]


def cluster_addon(scope: Construct, id: str, *, cluster: eks.ICluster, name: str) -> eks.Addon:
    """Define an add-on in the version that is EKS's default for the cluster when it is created.

    No public record that was read pairs a version of it with each release, and EKS never changes it by itself
    (https://docs.aws.amazon.com/eks/latest/userguide/updating-an-add-on.html, read 2026-11-23): after an upgrade of the
    cluster `aws eks update-addon` does.

    Args:
        scope: A stack, or a construct in one.
        id: Id in the scope.
        cluster: The cluster.
        name: EKS's name of it.
    """
    return eks.Addon(scope, id, cluster=cluster, addon_name=name)
