"""kubectl in a cluster: the Lambda layer with it, and the parts that CDK adds to run it and Helm.

These are two Lambda functions, their roles and their log groups.
"""

from importlib import import_module
from typing import Annotated, Any

from aws_cdk import Annotations, Aws, CfnCondition, Fn
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from training_cluster.log_group import own_logs
from training_cluster.suppressions import (
    children_of_type,
    suppress,
    suppress_cdks_function,
    suppress_implied_dependency,
    suppress_policy,
    suppress_policy_arn,
    suppress_wildcard,
)
from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.spec import Checked, Converted
from training_workloads.validation import one_of

__all__ = ["KubernetesVersion", "kubectl_layer", "release_name", "secure_kubectl"]

# kubectl is compatible within one minor version of the API server, older or newer:
# https://kubernetes.io/releases/version-skew-policy/#kubectl
_COMPATIBLE = 1

_PUBLIC_REGISTRY = "AmazonElasticContainerRegistryPublicReadOnly"
_ROLES = ("AWSLambdaBasicExecutionRole", "AWSLambdaVPCAccessExecutionRole")


def release_name(version: Any) -> Any:
    """Return a release of Kubernetes as text, such as 1.35."""
    return version.version if isinstance(version, eks.KubernetesVersion) else version


#: A release that a new cluster of this library can have: each needs its kubectl layer and its autoscaler.
KubernetesVersion = Annotated[
    Converted[eks.KubernetesVersion | str, str], Checked(one_of, KUBERNETES_VERSIONS, read=release_name, typed=str)
]


def kubectl_layer(scope: Construct, id: str, *, kubernetes_version: str) -> lambda_.LayerVersion:
    """Define the Lambda layer with kubectl and Helm.

    There is a Python package for each release; the project depends on those of new clusters. Another release gets the
    nearest of them, with a warning.
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


def secure_kubectl(cluster: eks.Cluster, encryption_key: kms.IKey | None) -> None:
    """Encrypt the logs of kubectl's functions, and suppress the findings on CDK's code."""
    provider = cluster.node.find_child("KubectlProvider")
    assert isinstance(provider, Construct)
    own_logs(provider, encryption_key)
    _suppress_functions(provider)
    _suppress_roles(provider)


def _suppress_functions(provider: Construct) -> None:
    for function in children_of_type(provider, "AWS::Lambda::Function"):
        suppress_cdks_function(function, "CKV_AWS_115", "CKV_AWS_116")
        suppress(function, "holds a setting and the name of the other function, no secret", "CKV_AWS_173")
        suppress(function, "CDK chooses the runtime that its code is written for", "AwsSolutions-L1")
        suppress_implied_dependency(function)


def _suppress_roles(provider: Construct) -> None:
    suppress_policy(
        provider, "logs and network interfaces of a function in a VPC", *(f"service-role/{role}" for role in _ROLES)
    )
    suppress_policy(provider, "CDK's function pulls Helm charts from ECR", "AmazonEC2ContainerRegistryReadOnly")
    handler = provider.node.find_child("Handler")
    assert isinstance(handler, lambda_.Function)
    suppress_wildcard(provider, "every version of one function", f"{handler.function_arn}:*")
    condition = handler.node.find_child("HasEcrPublic")
    assert isinstance(condition, CfnCondition)
    policy = f"arn:{Aws.PARTITION}:iam::aws:policy/{_PUBLIC_REGISTRY}"
    in_one_partition = Fn.condition_if(condition.logical_id, policy, Aws.NO_VALUE).to_string()
    suppress_policy_arn(provider, "CDK's function pulls Helm charts from the public registry", in_one_partition)
