"""EKS's add-ons that a cluster can do without: volumes on EBS, and the Kubernetes Metrics Server.

The latter is for `kubectl top` and for Deployments that scale by their load.
"""

from typing import Any, cast

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.checks import AnyCluster, Cluster, Key
from training_cluster.identity.pod_identity import PodRole
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import ClusterDefaults, after_node_addons
from training_cluster.platform.cluster_addon import cluster_addon
from training_cluster.single_owner import own
from training_cluster.suppressions import suppress_policy
from training_workloads.keywords import checked

__all__ = ["EbsDriver", "MetricsServer"]

# https://docs.aws.amazon.com/eks/latest/userguide/add-ons-aws-ebs-csi-driver.html (read 2026-11-23)
_ADDON = "aws-ebs-csi-driver"
_SERVICE_ACCOUNT = "ebs-csi-controller-sa"
_POLICY = "service-role/AmazonEBSCSIDriverPolicy"

_STORAGE_CLASS = "gp3"


class EbsDriver(Construct):
    """The driver of EBS, and a StorageClass `gp3` for claims that name none.

    Attributes:
        role: The role of the driver's controller.
        addon: EKS's add-on.
        storage_class: The StorageClass.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, cluster: Cluster, encryption_key: Key | None = None) -> None:
        """Define the driver.

        Args:
            cluster: The cluster, with the add-on eks-pod-identity-agent: ours or one of `aws_eks_v2`.
            encryption_key: Key of the volumes; its policy must allow EC2 for the account, as that of `TrainingKey`
                does. Default: that of a `TrainingCluster`, else the account's key for EBS.

        Raises:
            InputError: The cluster has a driver from another construct, or an argument is of another type.
        """
        super().__init__(scope, id)
        own(self, cluster, "driver of EBS")
        target = cast(eks.ICluster, cluster)
        self.role = PodRole(self, "Role", cluster=cluster, namespace="kube-system", service_account=_SERVICE_ACCOUNT)
        self.role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(_POLICY))
        suppress_policy(self.role, "maintained by AWS for this driver, whose new releases may call more", _POLICY)
        self.addon = cluster_addon(self, "Resource", cluster=target, name=_ADDON)
        # Its pods have the role only if the association exists before they start.
        self.addon.node.add_dependency(self.role)
        ours = cluster if isinstance(cluster, ClusterDefaults) else ClusterDefaults()
        documents = [_storage_class(encryption_key or ours.encryption_key)]
        self.storage_class = apply_manifest(self, "StorageClass", cluster=target, documents=documents)
        self.storage_class.node.add_dependency(self.addon)
        after_node_addons(self, cluster)


def _storage_class(key: kms.IKey | None) -> dict[str, Any]:
    # https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md
    parameters = {"type": "gp3", "encrypted": "true"} | ({"kmsKeyId": key.key_arn} if key else {})
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": _STORAGE_CLASS,
            # Claims that name no class get this one.
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "ebs.csi.aws.com",
        "parameters": parameters,
        # A volume is in one zone: that of the node where its first pod is to run.
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
        "reclaimPolicy": "Delete",
    }


class MetricsServer(Construct):
    """EKS's community add-on metrics-server, on the nodes without GPUs.

    Attributes:
        addon: The add-on.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, cluster: AnyCluster) -> None:
        """Define the add-on, which needs no role.

        https://docs.aws.amazon.com/eks/latest/userguide/community-addons.html (read 2026-11-23)

        Args:
            cluster: The cluster: ours or one of `aws_eks_v2`.

        Raises:
            InputError: The cluster has one from another construct.
        """
        super().__init__(scope, id)
        own(self, cluster, "metrics server")
        self.addon = cluster_addon(self, "Resource", cluster=cast(eks.ICluster, cluster), name="metrics-server")
        after_node_addons(self, cluster)
