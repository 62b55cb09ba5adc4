"""EKS's add-ons: their selection, their versions, their settings and their roles."""

import json
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.identity.pod_identity import PodRole
from training_cluster.platform.cluster_addon import cluster_addon
from training_cluster.suppressions import suppress_policy
from training_workloads.catalog.nodes import JUMBO_FRAME_BYTES, gpu_toleration

__all__ = [
    "ADDRESSES_PER_NODE",
    "Addons",
    "add_network_addons",
    "add_node_addons",
    "enforce_policies_from_the_start",
    "require_efs_driver",
]

_ADDRESSES_FOR_PODS = 16
_SPARE_ADDRESSES = 4

#: Addresses that the CNI takes for a node with up to 16 pods: the node's own, those kept for pods, and the spare ones
#: that it fetches when pods use these up. Further interfaces of a launch template come on top.
ADDRESSES_PER_NODE = 1 + _ADDRESSES_FOR_PODS + _SPARE_ADDRESSES

# The add-on's schema accepts strings only (`aws eks describe-addon-configuration --addon-name vpc-cni`); their meaning:
# https://github.com/aws/amazon-vpc-cni-k8s#cni-configuration-variables
_VPC_CNI_ENVIRONMENT = {
    # Its default is DEBUG. A changed setting restarts the pods of a deployed cluster, which get the role below by that.
    "AWS_VPC_K8S_CNI_LOGLEVEL": "INFO",
    # Jumbo frames, which all GPU types have: NCCL over TCP and Lustre move large messages.
    "AWS_VPC_ENI_MTU": str(JUMBO_FRAME_BYTES),
    # A number of addresses instead of a whole interface full, which is 50 on a p4d.
    "MINIMUM_IP_TARGET": str(_ADDRESSES_FOR_PODS),
    "WARM_IP_TARGET": str(_SPARE_ADDRESSES),
    "WARM_ENI_TARGET": "0",
}
_VPC_CNI = {
    # Without it the cluster accepts NetworkPolicies and does not enforce them.
    "enableNetworkPolicy": "true",
    "env": _VPC_CNI_ENVIRONMENT,
}

# https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html
_CNI_SERVICE_ACCOUNT = "aws-node"
_CNI_POLICY = "AmazonEKS_CNI_Policy"

# A new pod has no network until its policies are in force. Otherwise it starts with an open one, for seconds in which
# others reach it (https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html and
# https://github.com/aws/aws-network-policy-agent/issues/209, read 2026-11-28).
_STRICT = {"NETWORK_POLICY_ENFORCING_MODE": "strict"}

# https://docs.aws.amazon.com/eks/latest/userguide/efs-csi.html
_EFS_DRIVER = "aws-efs-csi-driver"
_EFS_SERVICE_ACCOUNT = "efs-csi-controller-sa"
_EFS_POLICY = "service-role/AmazonEFSCSIDriverPolicy"


class Addons(Construct):
    """EKS's add-ons of one cluster, each in the version of the cluster's release."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, kubernetes_version: str) -> None:
        """Define no add-on yet."""
        super().__init__(scope, id)
        self._cluster, self._kubernetes_version = cluster, kubernetes_version

    def add(self, name: str, values: dict[str, Any] | None = None) -> eks.Addon:
        """Add one by EKS's name of it. Default of the settings: those of the add-on."""
        cluster, release = self._cluster, self._kubernetes_version
        return cluster_addon(self, name, cluster=cluster, name=name, values=values, kubernetes_version=release)


def add_network_addons(scope: Construct, id: str, *, cluster: eks.ICluster, kubernetes_version: str) -> Addons:
    """Add the add-ons that a node needs to become ready: addresses for pods, services, and roles for pods."""
    addons = Addons(scope, id, cluster=cluster, kubernetes_version=kubernetes_version)
    agent = addons.add("eks-pod-identity-agent")
    addons.add("kube-proxy")
    # The add-on after its role: a pod that starts before the association runs without it. The role of a node, which
    # waits for all of these, loses the right afterwards. docs/adr/0032-the-cni-has-its-own-role.md
    role = PodRole(addons, "CniRole", cluster=cluster, namespace="kube-system", service_account=_CNI_SERVICE_ACCOUNT)
    role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(_CNI_POLICY))
    suppress_policy(role, "maintained by AWS for this add-on, whose new releases may call more", _CNI_POLICY)
    addons.add("vpc-cni", _VPC_CNI).node.add_dependency(agent, role)
    return addons


def enforce_policies_from_the_start(addons: Construct, *, policies: Construct) -> None:
    """Let the result of `add_network_addons` enforce network policies strictly, as soon as there are some.

    Args:
        addons: The add-ons.
        policies: The policies of the namespaces whose pods would have no network otherwise.
    """
    addon = addons.node.find_child("vpc-cni").node.default_child
    assert isinstance(addon, eks.CfnAddon)
    addon.configuration_values = json.dumps({**_VPC_CNI, "env": {**_VPC_CNI_ENVIRONMENT, **_STRICT}})
    addons.node.add_dependency(policies)


def add_node_addons(scope: Construct, id: str, *, cluster: eks.ICluster, kubernetes_version: str, efs: bool) -> Addons:
    """Add the add-ons that become healthy on a node: DNS, drivers of file systems, and the node monitoring agent."""
    addons = Addons(scope, id, cluster=cluster, kubernetes_version=kubernetes_version)
    addons.add("coredns")
    # Static volumes only: the driver mounts them and calls no AWS API, so it needs no role.
    addons.add("aws-fsx-csi-driver")
    # Finds broken GPUs and interfaces; node auto repair acts on what it finds.
    # https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
    # It reads NVIDIA's DCGM, whose pods avoid tainted nodes by default: without them every GPU node would report
    # DCGMError, for which EKS repairs nothing, and no fault of a GPU would be found
    # (https://github.com/aws/containers-roadmap/issues/2567; the action is None in
    # https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html, read 2026-11-28).
    addons.add("eks-node-monitoring-agent", {"dcgmAgent": {"tolerations": [gpu_toleration()]}})
    if efs:
        require_efs_driver(addons, cluster=cluster)
    return addons


def require_efs_driver(addons: Construct, *, cluster: eks.ICluster) -> None:
    """Add the driver of EFS to the result of `add_node_addons`, if it is not there yet."""
    assert isinstance(addons, Addons)
    if addons.node.try_find_child(_EFS_DRIVER):
        return
    role = PodRole(addons, "EfsRole", cluster=cluster, namespace="kube-system", service_account=_EFS_SERVICE_ACCOUNT)
    role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(_EFS_POLICY))
    suppress_policy(role, "maintained by AWS for this driver, whose new releases may call more", _EFS_POLICY)
    addons.add(_EFS_DRIVER).node.add_dependency(role)
