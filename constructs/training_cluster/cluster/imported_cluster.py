"""An existing cluster, so that the other constructs can be added to it."""

import re
from collections.abc import Callable
from typing import Annotated, Any, cast

import jsii
from aws_cdk import Resource
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct
from pydantic import Field

from training_cluster.checks import KnownChecked, is_a, running_version
from training_cluster.cluster.access import administration
from training_cluster.cluster.cluster_methods import ClusterMethods
from training_cluster.cluster.kubectl import kubectl_layer, release_name
from training_cluster.cluster.release_support import warn_of_the_end_of_support
from training_cluster.log_group import own_logs
from training_cluster.network.training_network import private_subnets
from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.keywords import keywords_of
from training_workloads.names import aws_id
from training_workloads.spec import Checked, Converted, Spec
from training_workloads.validation import Problem, Problems

__all__ = ["ClusterAttributes", "ImportedCluster"]

# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
_ARN = re.compile(r"arn:[\w-]+:eks:[\w-]+:\d{12}:cluster/(.+)")

_SHOWS_GROUP = "aws eks describe-cluster --name <name> --query cluster.resourcesVpcConfig.clusterSecurityGroupId"


def _forwarded(name: str) -> Any:
    """Return a property that has its value from the cluster as CDK imports it."""
    return property(lambda self: getattr(self.resource, name))


def _forwarded_call(name: str) -> Any:
    """Return a method that calls that of the cluster as CDK imports it."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.resource, name)(*args, **kwargs)

    return call


def _with_subnets(name: str, vpc: Any) -> Problems:
    """Reject a VPC without subnets for kubectl."""
    if not is_a(vpc, "vpc_id"):
        yield Problem(path=(name,), given=vpc, fix="give a VPC, such as a TrainingNetwork")
    elif not private_subnets(vpc):
        fix = "give private_subnet_ids, those from which the cluster's API is reached"
        yield Problem(path=(name,), given=vpc, allowed="it has no private subnets", fix=fix)


def _name(name: str, value: Any) -> Problems:
    """Reject other text than the name of a cluster, such as its ARN."""
    if isinstance(value, str) and _NAME.fullmatch(value):
        return
    arn = _ARN.fullmatch(value) if isinstance(value, str) else None
    fix = (
        f"give its name, {arn[1]}" if arn else "give the cluster's name, as 'aws eks describe-cluster --name' takes it"
    )
    yield Problem(path=(name,), given=value, fix=fix)


class ClusterAttributes(Spec):
    """An existing cluster.

    Attributes:
        cluster_name: Name of the cluster.
        cluster_security_group_id: The security group that EKS created for it (`sg-…`, shown by
            `aws eks describe-cluster` as clusterSecurityGroupId).
        vpc: Its VPC, with private subnets from which the cluster's API is reached.
        kubernetes_version: Its release, such as 1.33, any that EKS runs; it decides kubectl and the autoscaler.
    """

    cluster_name: Annotated[str, KnownChecked(_name)]
    cluster_security_group_id: Annotated[str, KnownChecked(aws_id, "sg", _SHOWS_GROUP)]
    vpc: Annotated[ec2.IVpc, Checked(_with_subnets)]
    kubernetes_version: Annotated[
        Converted[eks.KubernetesVersion | str, str], Checked(running_version, read=release_name)
    ] = Field(default=KUBERNETES_VERSION, validate_default=True)


@jsii.implements(eks.ICluster)
class ImportedCluster(Resource, ClusterMethods):
    """A cluster by its name, with a kubectl in this stack and the access entry that kubectl needs.

    The cluster's authentication mode must include the API (`API` or `API_AND_CONFIG_MAP`), and it needs the add-ons
    vpc-cni, eks-pod-identity-agent and eks-node-monitoring-agent, aws-fsx-csi-driver for Lustre
    and aws-efs-csi-driver for EFS.

    Attributes:
        resource: The cluster as CDK imports it.
        kubernetes_version: Release of Kubernetes.
    """

    @keywords_of(ClusterAttributes)
    def __init__(self, scope: Construct, id: str, attributes: ClusterAttributes) -> None:
        """Import the cluster; see `TrainingCluster.from_cluster_attributes`."""
        super().__init__(scope, id)
        self.kubernetes_version = release = attributes.kubernetes_version
        warn_of_the_end_of_support(self, release)
        vpc = attributes.vpc
        names: dict[str, Any] = {
            "cluster_name": attributes.cluster_name,
            "cluster_security_group_id": attributes.cluster_security_group_id,
            "vpc": vpc,
        }
        # The provider needs a cluster and the cluster its provider, so it is imported twice.
        bare = eks.Cluster.from_cluster_attributes(self, "WithoutKubectl", **names)
        layer = kubectl_layer(self, "KubectlLayer", kubernetes_version=release)
        provider = eks.KubectlProvider(
            self, "Kubectl", cluster=bare, kubectl_layer=layer, private_subnets=private_subnets(vpc)
        )
        own_logs(provider, self.encryption_key)
        self.resource = eks.Cluster.from_cluster_attributes(self, "Resource", kubectl_provider=provider, **names)
        role = cast(iam.IRole, provider.role)
        policies = [administration()]
        access = eks.AccessEntry(self, "Access", cluster=bare, principal=role.role_arn, access_policies=policies)
        # All manifests and charts go through this function, which has no access before.
        provider.node.find_child("Provider").node.add_dependency(access)

    cluster_arn: str = _forwarded("cluster_arn")
    cluster_certificate_authority_data: str = _forwarded("cluster_certificate_authority_data")
    cluster_encryption_config_key_arn: str = _forwarded("cluster_encryption_config_key_arn")
    cluster_endpoint: str = _forwarded("cluster_endpoint")
    cluster_name: str = _forwarded("cluster_name")
    cluster_ref: Any = _forwarded("cluster_ref")
    cluster_security_group: ec2.ISecurityGroup = _forwarded("cluster_security_group")
    cluster_security_group_id: str = _forwarded("cluster_security_group_id")
    connections: ec2.Connections = _forwarded("connections")
    eks_pod_identity_agent: eks.IAddon | None = _forwarded("eks_pod_identity_agent")
    ip_family: eks.IpFamily | None = _forwarded("ip_family")
    kubectl_provider: eks.IKubectlProvider | None = _forwarded("kubectl_provider")
    kubectl_provider_options: eks.KubectlProviderOptions | None = _forwarded("kubectl_provider_options")
    open_id_connect_provider: iam.IOpenIdConnectProvider = _forwarded("open_id_connect_provider")
    prune: bool = _forwarded("prune")
    vpc: ec2.IVpc = _forwarded("vpc")
    add_cdk8s_chart: Callable[..., eks.KubernetesManifest] = _forwarded_call("add_cdk8s_chart")
    add_helm_chart: Callable[..., eks.HelmChart] = _forwarded_call("add_helm_chart")
    add_manifest: Callable[..., eks.KubernetesManifest] = _forwarded_call("add_manifest")
    add_service_account: Callable[..., eks.ServiceAccount] = _forwarded_call("add_service_account")
    connect_auto_scaling_group_capacity: Callable[..., None] = _forwarded_call("connect_auto_scaling_group_capacity")
