"""A cluster that somebody else made, so that the other constructs can be added to it."""

from typing import Any, cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.cluster.kubectl_layer import kubectl_layer
from training_workloads.catalog.versions import KUBERNETES_VERSION

__all__ = ["ExistingCluster"]

_ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"


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
            InputError: There is no kubectl for the release.
        """
        super().__init__(scope, id)
        attributes: dict[str, Any] = {
            "cluster_name": cluster_name,
            "cluster_security_group_id": cluster_security_group_id,
            "vpc": vpc,
        }
        # The provider wants a cluster and the cluster its provider, so it is imported twice.
        bare = eks.Cluster.from_cluster_attributes(self, "WithoutKubectl", **attributes)
        layer = kubectl_layer(self, "KubectlLayer", kubernetes_version=kubernetes_version)
        provider = eks.KubectlProvider(
            self, "Kubectl", cluster=bare, kubectl_layer=layer, private_subnets=vpc.private_subnets
        )
        self.cluster = eks.Cluster.from_cluster_attributes(self, "Resource", kubectl_provider=provider, **attributes)
        policy = eks.AccessPolicy.from_access_policy_name(_ADMIN_POLICY, access_scope_type=eks.AccessScopeType.CLUSTER)
        role = cast(iam.IRole, provider.role)
        access = eks.AccessEntry(self, "Access", cluster=bare, principal=role.role_arn, access_policies=[policy])
        # Every manifest and chart goes through this function; it must not be called before it is let in.
        provider.node.find_child("Provider").node.add_dependency(access)
