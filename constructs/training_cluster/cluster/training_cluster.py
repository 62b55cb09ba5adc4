"""The EKS cluster: control plane, system nodes and add-ons, without any GPU node yet."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.checks import check_flag, check_vpc
from training_cluster.cluster.access import administration, check_admin_arns, check_public_access_cidrs
from training_cluster.cluster.addons import add_network_addons, add_node_addons
from training_cluster.cluster.kubectl_handler import secure_kubectl
from training_cluster.cluster.kubectl_layer import check_kubernetes_version, kubectl_layer
from training_cluster.network.training_network import private_subnets
from training_cluster.nodes.system_nodes import SystemNodes
from training_cluster.suppressions import accept, accept_implied_dependency, accept_policy
from training_workloads import InputError
from training_workloads.catalog.versions import KUBERNETES_VERSION

__all__ = ["TrainingCluster"]

_ZONES = 2
_LOGS = eks.ClusterLoggingTypes


class TrainingCluster(Construct):
    """An EKS cluster with explicit capacity (no Auto Mode), its system node group and the add-ons that jobs need.

    Attributes:
        cluster: The EKS cluster.
        system_nodes: Node group of the operator, the launchers and the cluster's own services.
        network_addons: What a node needs to become ready; make every further node group depend on it.
        node_addons: What runs on nodes, the drivers of file systems among it; make every volume depend on it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        kubernetes_version: str = KUBERNETES_VERSION,
        public_access_cidrs: Sequence[str] | None = None,
        allow_any_address: bool = False,
        admin_arns: Sequence[str] | None = None,
        encryption_key: kms.IKey | None = None,
        efs: bool = False,
    ) -> None:
        """Defines the cluster.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            vpc: Where the cluster lives; nodes go into its private subnets, or its isolated ones if it has no other.
            kubernetes_version: Release of Kubernetes, one of the catalog's. Default: the newest of them.
            public_access_cidrs: Who reaches the Kubernetes API from outside the VPC. Default: nobody.
            allow_any_address: Whether `public_access_cidrs` may be the whole internet. Default: no.
            admin_arns: IAM roles or users that administer the cluster with kubectl. Default: none.
            encryption_key: Key of Kubernetes' secrets, the nodes' volumes and the logs; `TrainingKey` lets in all that
                use it. Default: keys of the services.
            efs: Whether volumes on EFS are used; adds its driver. Default: no.

        Raises:
            InputError: A release, an address range or an ARN is not one that EKS takes, the VPC has no private subnets
                in two zones, or a flag is not a bool.
        """
        super().__init__(scope, id)
        cidrs = () if public_access_cidrs is None else public_access_cidrs
        admins = () if admin_arns is None else admin_arns
        check_kubernetes_version("kubernetes_version", kubernetes_version)
        check_flag("allow_any_address", allow_any_address)
        check_flag("efs", efs)
        check_public_access_cidrs("public_access_cidrs", cidrs, allow_any_address=allow_any_address)
        check_admin_arns("admin_arns", admins)
        _check_zones(vpc)
        subnets = ec2.SubnetSelection(subnets=private_subnets(vpc))
        endpoint_access = _endpoint_access(cidrs)
        self.cluster = self._control_plane(vpc, subnets, kubernetes_version, endpoint_access, encryption_key)
        self.network_addons = add_network_addons(self, "NetworkAddons", cluster=self.cluster)
        nodes = SystemNodes(
            self,
            "SystemNodes",
            cluster=self.cluster,
            subnets=subnets,
            kubernetes_version=kubernetes_version,
            encryption_key=encryption_key,
        )
        nodes.node.add_dependency(self.network_addons)
        self.system_nodes = nodes.node_group
        self.node_addons = add_node_addons(self, "NodeAddons", cluster=self.cluster, efs=efs)
        self.node_addons.node.add_dependency(nodes)
        self._grant_administration(admins)

    def _control_plane(
        self,
        vpc: ec2.IVpc,
        subnets: ec2.SubnetSelection,
        version: str,
        endpoint_access: eks.EndpointAccess,
        encryption_key: kms.IKey | None,
    ) -> eks.ICluster:
        layer = kubectl_layer(self, "KubectlLayer", kubernetes_version=version)
        cluster = eks.Cluster(
            self,
            "Resource",
            version=eks.KubernetesVersion.of(version),
            vpc=vpc,
            vpc_subnets=[subnets],
            endpoint_access=endpoint_access,
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
            # EKS's own add-ons take their place, in versions that EKS keeps up to date.
            bootstrap_self_managed_addons=False,
            bootstrap_cluster_creator_admin_permissions=False,
            secrets_encryption_key=encryption_key,
            cluster_logging=[_LOGS.API, _LOGS.AUDIT, _LOGS.AUTHENTICATOR, _LOGS.CONTROLLER_MANAGER, _LOGS.SCHEDULER],
            kubectl_provider_options=eks.KubectlProviderOptions(kubectl_layer=layer),
        )
        _accept_findings(cluster, encryption_key)
        # jsii's Python types lack a member of the interface that the class has, so a type checker must be told.
        return cast(eks.ICluster, cluster)

    def _grant_administration(self, arns: Sequence[str]) -> None:
        policy = administration()
        entries = Construct(self, "Administrators")
        for arn in arns:
            eks.AccessEntry(entries, arn, cluster=self.cluster, principal=arn, access_policies=[policy])


def _check_zones(vpc: ec2.IVpc) -> None:
    """EKS refuses subnets of one zone only: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html."""
    check_vpc("vpc", vpc)
    subnets = private_subnets(vpc)
    if not subnets:
        raise InputError("'vpc' has no private subnets, and nodes are nowhere else; give a VPC with two, in two zones")
    # One id can stand for a list that only the deployment knows.
    if len({subnet.availability_zone for subnet in subnets}) < _ZONES and not Token.is_unresolved(
        [subnet.subnet_id for subnet in subnets]
    ):
        raise InputError("'vpc' has private subnets in one zone only, but EKS needs two; give a VPC with both")


def _endpoint_access(public_access_cidrs: Sequence[str]) -> eks.EndpointAccess:
    if not public_access_cidrs:
        return eks.EndpointAccess.PRIVATE
    return eks.EndpointAccess.PUBLIC_AND_PRIVATE.only_from(*public_access_cidrs)


def _accept_findings(cluster: eks.Cluster, encryption_key: kms.IKey | None) -> None:
    accept_policy(cluster.role, "EKS names this policy for its control plane and keeps it", "AmazonEKSClusterPolicy")
    accept_implied_dependency(cluster)
    if encryption_key is None:
        accept(cluster, "EKS encrypts secrets with a key of its own, as no key was given", "CKV_AWS_58")
    secure_kubectl(cluster, encryption_key)
