"""The kubectl that talks to a cluster: it must be of the cluster's own release, or of the one before or after."""

from importlib import import_module

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.validation import check_one_of

__all__ = ["check_kubernetes_version", "kubectl_layer"]


def check_kubernetes_version(argument: str, version: str) -> None:
    """Refuses a release that this library was not tried with, or has no kubectl for.

    Raises:
        InputError: `version` is not in the catalog.
    """
    check_one_of(argument, version, KUBERNETES_VERSIONS)


def kubectl_layer(scope: Construct, id: str, *, kubernetes_version: str) -> lambda_.LayerVersion:
    """Defines the Lambda layer with kubectl and Helm.

    There is a Python package for each release; the project depends on those of the catalog's releases.

    Args:
        scope: A stack, or a construct in one.
        id: Id in the scope.
        kubernetes_version: Release of the cluster, such as 1.35.

    Raises:
        InputError: There is no layer for the release.
    """
    check_kubernetes_version("kubernetes_version", kubernetes_version)
    minor = kubernetes_version.partition(".")[2]
    module = import_module(f"aws_cdk.lambda_layer_kubectl_v{minor}")
    layer: lambda_.LayerVersion = getattr(module, f"KubectlV{minor}Layer")(scope, id)
    return layer
