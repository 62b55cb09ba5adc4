"""Objects of Kubernetes in a cluster, of which a deployment never deletes a namespace."""

from collections.abc import Sequence
from typing import Any, cast

from aws_cdk import RemovalPolicy
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

__all__ = ["apply_manifest"]


def apply_manifest(
    scope: Construct, id: str, *, cluster: eks.ICluster | eks.Cluster, documents: Sequence[dict[str, Any]]
) -> eks.KubernetesManifest:
    """Apply documents, and delete them when they leave the app; a namespace stays, with the objects of others in it.

    A namespace is its own resource, which CloudFormation forgets and does not delete, also when a deployment fails: it
    may have existed before. So it is applied, before the other objects, and not created, which would fail where it
    exists.
    """
    target = cast(eks.ICluster, cluster)
    namespaces = [each for each in documents if each["kind"] == "Namespace"]
    others = [each for each in documents if each["kind"] != "Namespace"]
    # Pruning deletes objects that left the manifest, which for clusters of an older release of this library is the
    # namespace.
    manifest = eks.KubernetesManifest(scope, id, cluster=target, manifest=others, prune=False if namespaces else None)
    for namespace in namespaces:
        kept = eks.KubernetesManifest(
            scope,
            f"Namespace {namespace['metadata']['name']}",
            cluster=target,
            manifest=[namespace],
            overwrite=True,
            prune=False,
            removal_policy=RemovalPolicy.RETAIN,
        )
        manifest.node.add_dependency(kept)
    return manifest
