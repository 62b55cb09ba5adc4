"""The EKS cluster: control plane, system nodes and add-ons, without any GPU node yet."""

import re
from collections.abc import Sequence
from typing import Any

from aws_cdk import Aws, Fn, Names, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from constructs import Construct
from pydantic import Field

from training_cluster.checks import Key, Vpc
from training_cluster.cluster.access import PublicCidrs, administration, public_access_is_limited
from training_cluster.cluster.addons import add_network_addons, add_node_addons
from training_cluster.cluster.cluster_methods import ClusterMethods
from training_cluster.cluster.imported_cluster import ClusterAttributes, ImportedCluster
from training_cluster.cluster.kubectl import KubernetesVersion, kubectl_layer, secure_kubectl
from training_cluster.cluster.release_support import warn_of_the_end_of_support
from training_cluster.identity.principal_arns import PrincipalArns
from training_cluster.log_group import log_group
from training_cluster.network.training_network import private_subnets
from training_cluster.nodes.system_nodes import SystemNodes, SystemNodesSpec
from training_cluster.stack_order import order_stacks
from training_cluster.suppressions import children_of_type, suppress, suppress_implied_dependency, suppress_policy
from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.keywords import keywords_of
from training_workloads.spec import Spec
from training_workloads.validation import Problem, Problems, check

__all__ = ["TrainingCluster"]

_ZONES = 2

# Of a name's 100 characters (https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html), 9 are those
# of the stack's id.
_LONGEST_NAME = 91
_LONGEST_ID = 40

_LOGS = eks.ClusterLoggingTypes


class TrainingClusterProps(Spec):
    """The keywords of `TrainingCluster`.

    Attributes:
        vpc: The VPC of the cluster; nodes go into its private subnets, or its isolated ones if it has no other.
        kubernetes_version: Release of Kubernetes, one in EKS's standard support; it decides the add-ons' versions.
        public_access_cidrs: Addresses outside the VPC that reach the Kubernetes API. Default: none.
        allow_any_address: Whether `public_access_cidrs` may be the whole internet.
        admin_arns: IAM roles or users that administer the cluster with kubectl. Default: none.
        encryption_key: Key of Kubernetes' secrets, the nodes' volumes and the logs; the policy of `TrainingKey`
            allows all services that use it. Default: keys of the services.
        efs: Whether volumes on EFS are used; adds its driver.
        system_nodes: Options of the system nodes.
    """

    vpc: Vpc
    kubernetes_version: KubernetesVersion = Field(default=KUBERNETES_VERSION, validate_default=True)
    public_access_cidrs: PublicCidrs = ()
    allow_any_address: bool = False
    admin_arns: PrincipalArns = ()
    encryption_key: Key | None = None
    efs: bool = False
    system_nodes: SystemNodesSpec = SystemNodesSpec()


@TrainingClusterProps.rule
def public_access_is_narrow(props: TrainingClusterProps) -> Problems:
    """Reject a large part of the internet in `public_access_cidrs`."""
    yield from public_access_is_limited(props.public_access_cidrs, allow_any_address=props.allow_any_address)


class TrainingCluster(eks.Cluster, ClusterMethods):
    """An EKS cluster with explicit capacity (no Auto Mode), its system node group and the add-ons that jobs need.

    Attributes:
        system_nodes: Node group of the operator, the launchers and the cluster's own services.
        kubernetes_version: Release of Kubernetes.
        control_plane_logs: The log group of the control plane. It is beside the cluster in the tree, with the id
            `<id>Logs`.
    """

    @keywords_of(TrainingClusterProps)
    def __init__(self, scope: Construct, id: str, props: TrainingClusterProps) -> None:
        """Define the cluster.

        Raises:
            InputError: EKS does not accept a release, an address range or an ARN, the VPC has no private subnets in
                two zones, or a flag is not a bool.
        """
        vpc, release, encryption_key = props.vpc, props.kubernetes_version, props.encryption_key
        check(_zones(vpc))
        order_stacks(scope, id, vpc=vpc, encryption_key=encryption_key)
        # Beside the cluster: a construct cannot have children before it exists.
        layer = kubectl_layer(scope, f"{id}KubectlLayer", kubernetes_version=release)
        self.kubectl_provider_options = eks.KubectlProviderOptions(kubectl_layer=layer)
        name = _unique_name(scope, id)
        self.control_plane_logs = log_group(scope, f"{id}Logs", key=encryption_key, name=f"/aws/eks/{name}/cluster")
        subnets = ec2.SubnetSelection(subnets=private_subnets(vpc))
        options = _options(release, props.public_access_cidrs, encryption_key)
        places: dict[str, Any] = {"cluster_name": name, "vpc": vpc, "vpc_subnets": [subnets]}
        super().__init__(scope, id, kubectl_provider_options=self.kubectl_provider_options, **places, **options)
        self.kubernetes_version = self.node_version = release
        self.encryption_key = encryption_key
        warn_of_the_end_of_support(self, release)
        self._keep_logs_behind_the_cluster()
        self._suppress_findings()
        self._add_system(subnets, props)
        self.administrators = tuple(props.admin_arns)
        self._add_administrators(props.admin_arns)

    @classmethod
    @keywords_of(ClusterAttributes)
    def from_cluster_attributes(  # type: ignore[override] # CDK's has no required attribute; kubectl needs three.
        cls, scope: Construct, id: str, attributes: ClusterAttributes
    ) -> ImportedCluster:
        """Import an existing cluster, with kubectl and the same `add_…` methods.

        Raises:
            InputError: EKS has no such name, id or release, or the VPC has no subnets for kubectl.
        """
        return ImportedCluster(scope, id, **attributes.given())

    def _keep_logs_behind_the_cluster(self) -> None:
        """Delete the cluster before its group: EKS writes into it to the end, and would create it again."""
        (cluster,) = children_of_type(self, "AWS::EKS::Cluster")
        (group,) = children_of_type(self.control_plane_logs, "AWS::Logs::LogGroup")
        cluster.add_resource_dependency(group)

    def _add_administrators(self, admins: Sequence[str]) -> None:
        entries = Construct(self, "Administrators")
        for index, arn in enumerate(admins):
            # A token cannot be an id.
            entry = f"Administrator{index}" if Token.is_unresolved(arn) else arn
            eks.AccessEntry(entries, entry, cluster=self.as_cluster, principal=arn, access_policies=[administration()])

    def _add_system(self, subnets: ec2.SubnetSelection, props: TrainingClusterProps) -> None:
        cluster = self.as_cluster
        self.network_addons = add_network_addons(
            self, "NetworkAddons", cluster=cluster, kubernetes_version=self.kubernetes_version
        )
        nodes = SystemNodes(
            self,
            "SystemNodes",
            cluster=cluster,
            subnets=subnets,
            kubernetes_version=self.kubernetes_version,
            encryption_key=self.encryption_key,
            spec=props.system_nodes,
        )
        nodes.node.add_dependency(self.network_addons)
        self.system_nodes = nodes.node_group
        self.node_addons = add_node_addons(
            self, "NodeAddons", cluster=cluster, kubernetes_version=self.kubernetes_version, efs=props.efs
        )
        self.node_addons.node.add_dependency(nodes)

    def _suppress_findings(self) -> None:
        suppress_policy(self.role, "EKS names this policy for its control plane and keeps it", "AmazonEKSClusterPolicy")
        suppress_implied_dependency(self)
        if self.encryption_key is None:
            suppress(self, "EKS encrypts secrets with its own key, as no key was given", "CKV_AWS_58")
        secure_kubectl(self, self.encryption_key)


def _unique_name(scope: Construct, id: str) -> str:
    """Return a name that is known before the cluster exists, and that no later deployment of the stack shares.

    EKS writes to `/aws/eks/<name>/cluster`. A group that exists before keeps its retention and its key:
    https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
    """
    separator, id = "-", re.sub(r"[^A-Za-z0-9-]", "", id)[:_LONGEST_ID]
    tree = Names.unique_resource_name(scope, max_length=_LONGEST_NAME - len(id) - len(separator), separator=separator)
    # arn:aws:cloudformation:<region>:<account>:stack/<name>/<uuid>: the stack has a new one with each creation.
    uuid = Fn.select(2, Fn.split("/", Aws.STACK_ID))
    return Fn.join(separator, [tree, id, Fn.select(0, Fn.split("-", uuid))])


def _options(version: str, public_access_cidrs: Sequence[str], encryption_key: kms.IKey | None) -> dict[str, Any]:
    public = eks.EndpointAccess.PUBLIC_AND_PRIVATE
    return {
        "version": eks.KubernetesVersion.of(version),
        "endpoint_access": public.only_from(*public_access_cidrs)
        if public_access_cidrs
        else eks.EndpointAccess.PRIVATE,
        "default_capacity_type": eks.DefaultCapacityType.NODEGROUP,
        "default_capacity": 0,
        # EKS's own add-ons replace them, in the versions of the catalog.
        "bootstrap_self_managed_addons": False,
        "bootstrap_cluster_creator_admin_permissions": False,
        "secrets_encryption_key": encryption_key,
        "cluster_logging": [_LOGS.API, _LOGS.AUDIT, _LOGS.AUTHENTICATOR, _LOGS.CONTROLLER_MANAGER, _LOGS.SCHEDULER],
    }


def _zones(vpc: ec2.IVpc) -> Problems:
    """Reject private subnets in fewer than two zones, as EKS does.

    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
    """
    subnets = private_subnets(vpc)
    if not subnets:
        allowed = "it has no private subnets, and nodes use no other"
        yield Problem(path=("vpc",), given=vpc, allowed=allowed, fix="give a VPC with two, in two zones")
    # One id can stand for a list that only the deployment knows.
    elif len({subnet.availability_zone for subnet in subnets}) < _ZONES and not Token.is_unresolved(
        [subnet.subnet_id for subnet in subnets]
    ):
        allowed = "it has private subnets in one zone only, and EKS needs two"
        yield Problem(path=("vpc",), given=vpc, allowed=allowed, fix="give a VPC with both")
