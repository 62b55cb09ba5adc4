"""EKS's add-ons: their selection, their settings and their roles."""

from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.identity.pod_identity import PodRole
from training_cluster.suppressions import suppress_policy
from training_workloads.catalog.nodes import JUMBO_FRAME_BYTES, gpu_toleration

__all__ = ["ADDRESSES_PER_NODE", "add_efs_driver", "add_network_addons", "add_node_addons"]

_ADDRESSES_FOR_PODS = 16
_SPARE_ADDRESSES = 4

#: Addresses that the CNI takes for a node with up to 16 pods: the node's own, those kept for pods, and the spare ones
#: that it fetches when pods use these up. Further interfaces of a launch template come on top.
ADDRESSES_PER_NODE = 1 + _ADDRESSES_FOR_PODS + _SPARE_ADDRESSES

# The add-on's schema accepts strings only (`aws eks describe-addon-configuration --addon-name vpc-cni`); their meaning:
# https://github.com/aws/amazon-vpc-cni-k8s#cni-configuration-variables
_VPC_CNI = {
    # Without it the cluster accepts NetworkPolicies and does not enforce them.
    "enableNetworkPolicy": "true",
    "env": {
        # Jumbo frames, which all GPU types have: NCCL over TCP and Lustre move large messages.
        "AWS_VPC_ENI_MTU": str(JUMBO_FRAME_BYTES),
        # A number of addresses instead of a whole interface full, which is 50 on a p4d.
        "MINIMUM_IP_TARGET": str(_ADDRESSES_FOR_PODS),
        "WARM_IP_TARGET": str(_SPARE_ADDRESSES),
        "WARM_ENI_TARGET": "0",
    },
}

# https://docs.aws.amazon.com/eks/latest/userguide/efs-csi.html
_EFS_DRIVER = "aws-efs-csi-driver"
_EFS_SERVICE_ACCOUNT = "efs-csi-controller-sa"
_EFS_POLICY = "service-role/AmazonEFSCSIDriverPolicy"


def add_network_addons(scope: Construct, id: str, *, cluster: eks.ICluster) -> Construct:
    """Add what a node needs to become ready: addresses for pods, services, and roles for pods.

    Args:
        scope: A stack, or a construct in one.
        id: Id in the scope.
        cluster: A cluster without add-ons.
    """
    addons = Construct(scope, id)
    _addon(addons, "vpc-cni", cluster, _VPC_CNI)
    _addon(addons, "kube-proxy", cluster)
    _addon(addons, "eks-pod-identity-agent", cluster)
    return addons


def add_node_addons(scope: Construct, id: str, *, cluster: eks.ICluster, efs: bool) -> Construct:
    """Add what becomes healthy only on a node: DNS, the drivers of the file systems, and the node monitoring agent.

    Args:
        scope: A stack, or a construct in one.
        id: Id in the scope.
        cluster: The cluster; its system nodes must exist first.
        efs: Whether volumes on EFS are used.
    """
    addons = Construct(scope, id)
    _addon(addons, "coredns", cluster)
    # Static volumes only: the driver mounts them and calls no AWS API, so it needs no role.
    _addon(addons, "aws-fsx-csi-driver", cluster)
    # Finds broken GPUs and interfaces; node auto repair acts on what it finds.
    # https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
    # It reads NVIDIA's DCGM, whose pods avoid tainted nodes by default: without them GPUs would count as broken, and
    # auto repair would replace node after node (https://github.com/aws/containers-roadmap/issues/2567).
    _addon(addons, "eks-node-monitoring-agent", cluster, {"dcgmAgent": {"tolerations": [gpu_toleration()]}})
    if efs:
        add_efs_driver(addons, cluster=cluster)
    return addons


def _addon(scope: Construct, name: str, cluster: eks.ICluster, values: dict[str, Any] | None = None) -> eks.Addon:
    return eks.Addon(scope, name, cluster=cluster, addon_name=name, configuration_values=values)


def add_efs_driver(addons: Construct, *, cluster: eks.ICluster) -> None:
    """Add the driver of EFS to the node add-ons, once.

    Args:
        addons: What `add_node_addons` returned.
        cluster: The cluster.
    """
    if addons.node.try_find_child(_EFS_DRIVER):
        return
    role = PodRole(addons, "EfsRole", cluster=cluster, namespace="kube-system", service_account=_EFS_SERVICE_ACCOUNT)
    role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(_EFS_POLICY))
    suppress_policy(role, "maintained by AWS for this driver, whose new releases may call more", _EFS_POLICY)
    _addon(addons, _EFS_DRIVER, cluster).node.add_dependency(role)
