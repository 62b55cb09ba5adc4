"""The EKS cluster: control plane, system nodes and add-ons, without any GPU node yet."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer
from constructs import Construct

from training_cluster.access import check_admin_arns, check_public_access_cidrs
from training_workloads.catalog.versions import KUBERNETES_VERSION, SYSTEM_INSTANCE_TYPE

__all__ = ["TrainingCluster"]

_ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"
_SYSTEM_NODES = 2
_PRIVATE = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)


class TrainingCluster(Construct):
    """An EKS cluster with explicit capacity (no Auto Mode), its system node group and the add-ons that jobs need.

    Attributes:
        cluster: The EKS cluster.
        system_nodes: Node group of the operator, the launchers and the cluster's own services.
        network_addons: What a node needs to become ready; make every further node group depend on it.
        node_addons: What runs on nodes, the FSx driver among it; make every volume depend on it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        public_access_cidrs: Sequence[str] = (),
        admin_arns: Sequence[str] = (),
    ) -> None:
        """Defines the cluster.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            vpc: Where the cluster lives; nodes go into its private subnets.
            public_access_cidrs: Who reaches the Kubernetes API from outside the VPC. Default: nobody.
            admin_arns: IAM roles or users that administer the cluster with kubectl. Default: none.

        Raises:
            InputError: An address range or an ARN is not one that EKS takes.
        """
        super().__init__(scope, id)
        check_public_access_cidrs("public_access_cidrs", public_access_cidrs)
        check_admin_arns("admin_arns", admin_arns)
        self.cluster = self._control_plane(vpc, _endpoint_access(public_access_cidrs))
        self.network_addons = self._add_addons("NetworkAddons", "vpc-cni", "kube-proxy")
        self.system_nodes = eks.Nodegroup(
            self,
            "SystemNodes",
            cluster=self.cluster,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
            instance_types=[ec2.InstanceType(SYSTEM_INSTANCE_TYPE)],
            min_size=_SYSTEM_NODES,
            desired_size=_SYSTEM_NODES,
            max_size=_SYSTEM_NODES + 1,
            subnets=_PRIVATE,
        )
        self.system_nodes.node.add_dependency(self.network_addons)
        # These become healthy only on a node.
        self.node_addons = self._add_addons("NodeAddons", "coredns", "aws-fsx-csi-driver")
        self.node_addons.node.add_dependency(self.system_nodes)
        self._grant_administration(admin_arns)

    def _control_plane(self, vpc: ec2.IVpc, endpoint_access: eks.EndpointAccess) -> eks.ICluster:
        logs = eks.ClusterLoggingTypes
        cluster = eks.Cluster(
            self,
            "Resource",
            version=eks.KubernetesVersion.of(KUBERNETES_VERSION),
            vpc=vpc,
            vpc_subnets=[_PRIVATE],
            endpoint_access=endpoint_access,
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
            # EKS's own add-ons take their place, in versions that EKS keeps up to date.
            bootstrap_self_managed_addons=False,
            bootstrap_cluster_creator_admin_permissions=False,
            cluster_logging=[logs.API, logs.AUDIT, logs.AUTHENTICATOR, logs.CONTROLLER_MANAGER, logs.SCHEDULER],
            kubectl_provider_options=eks.KubectlProviderOptions(kubectl_layer=KubectlV35Layer(self, "KubectlLayer")),
        )
        # jsii's Python types lack a member of the interface that the class has, so a type checker must be told.
        return cast(eks.ICluster, cluster)

    def _add_addons(self, id: str, *names: str) -> Construct:
        addons = Construct(self, id)
        for name in names:
            eks.Addon(addons, name, cluster=self.cluster, addon_name=name)
        return addons

    def _grant_administration(self, arns: Sequence[str]) -> None:
        policy = eks.AccessPolicy.from_access_policy_name(_ADMIN_POLICY, access_scope_type=eks.AccessScopeType.CLUSTER)
        entries = Construct(self, "Administrators")
        for arn in arns:
            eks.AccessEntry(entries, arn, cluster=self.cluster, principal=arn, access_policies=[policy])


def _endpoint_access(public_access_cidrs: Sequence[str]) -> eks.EndpointAccess:
    if not public_access_cidrs:
        return eks.EndpointAccess.PRIVATE
    return eks.EndpointAccess.PUBLIC_AND_PRIVATE.only_from(*public_access_cidrs)
