"""The Lambda layer with kubectl: of the cluster's own Kubernetes release, or of the one before or after."""

from importlib import import_module

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.validation import Problems, check, one_of

__all__ = ["kubectl_layer", "release_name", "valid_kubernetes_version"]


def release_name(version: eks.KubernetesVersion | str) -> str:
    """Return a release of Kubernetes as text, such as 1.35."""
    return version.version if isinstance(version, eks.KubernetesVersion) else version


def valid_kubernetes_version(name: str, version: str) -> Problems:
    """Reject a release that this library was not tested with, or has no kubectl for."""
    yield from one_of(name, version, KUBERNETES_VERSIONS)


def kubectl_layer(scope: Construct, id: str, *, kubernetes_version: str) -> lambda_.LayerVersion:
    """Define the Lambda layer with kubectl and Helm.

    There is a Python package for each release; the project depends on those of the catalog's releases.

    Args:
        scope: A stack, or a construct in one.
        id: Id in the scope.
        kubernetes_version: Release of the cluster, such as 1.35.

    Raises:
        InputError: There is no layer for the release.
    """
    check(valid_kubernetes_version("kubernetes_version", kubernetes_version))
    minor = kubernetes_version.partition(".")[2]
    module = import_module(f"aws_cdk.lambda_layer_kubectl_v{minor}")
    layer: lambda_.LayerVersion = getattr(module, f"KubectlV{minor}Layer")(scope, id)
    return layer
