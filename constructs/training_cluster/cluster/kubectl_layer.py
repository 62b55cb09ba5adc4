"""The Lambda layer with kubectl: of the cluster's own Kubernetes release, or of the nearest one."""

from importlib import import_module
from typing import Annotated, Any

from aws_cdk import Annotations
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.spec import Checked, Converted
from training_workloads.validation import one_of

__all__ = ["KubernetesVersion", "kubectl_layer", "release_name"]

# kubectl is compatible within one minor version of the API server, older or newer:
# https://kubernetes.io/releases/version-skew-policy/#kubectl
_COMPATIBLE = 1


def release_name(version: Any) -> Any:
    """Return a release of Kubernetes as text, such as 1.35."""
    return version.version if isinstance(version, eks.KubernetesVersion) else version


#: A release that a new cluster of this library can have: each needs its kubectl layer and its autoscaler.
KubernetesVersion = Annotated[
    Converted[eks.KubernetesVersion | str, str], Checked(one_of, KUBERNETES_VERSIONS, read=release_name)
]


def kubectl_layer(scope: Construct, id: str, *, kubernetes_version: str) -> lambda_.LayerVersion:
    """Define the Lambda layer with kubectl and Helm.

    There is a Python package for each release; the project depends on those of new clusters. Another release gets the
    nearest of them, with a warning.

    Args:
        kubernetes_version: Release of the cluster, such as 1.35.
    """
    minor = _minor(kubernetes_version)
    nearest = min(map(_minor, KUBERNETES_VERSIONS), key=lambda one: abs(one - minor))
    if nearest != minor:
        _warn(scope, kubernetes_version, nearest, compatible=abs(nearest - minor) <= _COMPATIBLE)
    module = import_module(f"aws_cdk.lambda_layer_kubectl_v{nearest}")
    layer: lambda_.LayerVersion = getattr(module, f"KubectlV{nearest}Layer")(scope, id)
    return layer


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


def _warn(scope: Construct, version: str, nearest: int, *, compatible: bool) -> None:
    rule = "Kubernetes supports one minor version of difference"
    if not compatible:
        rule += " only, so a manifest may fail; upgrade the cluster"
    text = f"the cluster runs Kubernetes {version}, and kubectl is of 1.{nearest}, the nearest one here: {rule}"
    Annotations.of(scope).add_warning_v2("cdk-training-cluster:kubectl-of-another-release", text)
