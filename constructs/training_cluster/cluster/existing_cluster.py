"""A cluster that somebody else made, so that the other constructs can be added to it."""

import re
from typing import Any, cast

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.checks import check_id, check_vpc, shown
from training_cluster.cluster.access import administration
from training_cluster.cluster.kubectl_layer import check_kubernetes_version, kubectl_layer
from training_cluster.network.training_network import private_subnets
from training_workloads import InputError
from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.validation import enforce

__all__ = ["ExistingCluster"]

# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
_ARN = re.compile(r"arn:[\w-]+:eks:[\w-]+:\d{12}:cluster/(.+)")

_SHOWS_GROUP = "aws eks describe-cluster --name <name> --query cluster.resourcesVpcConfig.clusterSecurityGroupId"


class ExistingCluster(Construct):
    """A cluster by its name, with a kubectl of the stack's own and the access that this needs.

    The cluster's authentication mode must include the API (`API` or `API_AND_CONFIG_MAP`), and it needs the add-ons
    vpc-cni, eks-pod-identity-agent and eks-node-monitoring-agent, and aws-fsx-csi-driver for Lustre.

    Attributes:
        cluster: The EKS cluster, as the other constructs take it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        cluster_security_group_id: str,
        vpc: ec2.IVpc,
        kubernetes_version: str = KUBERNETES_VERSION,
    ) -> None:
        """Takes the cluster in.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster_name: Name of the cluster.
            cluster_security_group_id: The security group that EKS made for it (`sg-…`, shown by
                `aws eks describe-cluster` as clusterSecurityGroupId).
            vpc: Its VPC, with private subnets from which the cluster's API is reached.
            kubernetes_version: Its release, such as 1.35, which decides the kubectl.

        Raises:
            InputError: Name, id or release is none of EKS, or the VPC has no subnets for kubectl.
        """
        super().__init__(scope, id)
        checks = (
            lambda _: _check_name(cluster_name),
            lambda _: check_id("cluster_security_group_id", cluster_security_group_id, "sg", _SHOWS_GROUP),
            lambda _: _check_subnets(vpc),
            lambda _: check_kubernetes_version("kubernetes_version", kubernetes_version),
        )
        enforce(None, checks)
        attributes: dict[str, Any] = {
            "cluster_name": cluster_name,
            "cluster_security_group_id": cluster_security_group_id,
            "vpc": vpc,
        }
        # The provider wants a cluster and the cluster its provider, so it is imported twice.
        bare = eks.Cluster.from_cluster_attributes(self, "WithoutKubectl", **attributes)
        layer = kubectl_layer(self, "KubectlLayer", kubernetes_version=kubernetes_version)
        provider = eks.KubectlProvider(
            self, "Kubectl", cluster=bare, kubectl_layer=layer, private_subnets=private_subnets(vpc)
        )
        self.cluster = eks.Cluster.from_cluster_attributes(self, "Resource", kubectl_provider=provider, **attributes)
        role = cast(iam.IRole, provider.role)
        policies = [administration()]
        access = eks.AccessEntry(self, "Access", cluster=bare, principal=role.role_arn, access_policies=policies)
        # Every manifest and chart goes through this function; it must not be called before it is let in.
        provider.node.find_child("Provider").node.add_dependency(access)


def _check_subnets(vpc: ec2.IVpc) -> None:
    check_vpc("vpc", vpc)
    if not private_subnets(vpc):
        raise InputError("'vpc' has no private subnets; give private_subnet_ids, those from which its API is reached")


def _check_name(name: str) -> None:
    if Token.is_unresolved(name) or (isinstance(name, str) and _NAME.fullmatch(name)):
        return
    arn = _ARN.fullmatch(name) if isinstance(name, str) else None
    told = f"its name, {arn[1]}" if arn else "the cluster's name, as 'aws eks describe-cluster --name <name>' takes it"
    raise InputError(f"'cluster_name' is {shown(name)}; give {told}")
