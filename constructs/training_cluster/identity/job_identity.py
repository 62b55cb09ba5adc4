"""What a job may read and write in S3: one prefix of one bucket, by the service account of its pods."""

from typing import cast

import jsii
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import valid_bucket, valid_cluster, valid_flag, valid_key
from training_cluster.identity.folder_access import allow_folder, allow_key_through_s3, valid_prefix
from training_cluster.identity.pod_identity import PodRole
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import after_namespaces, after_network_addons
from training_cluster.single_owner import own
from training_workloads.names import dns_label
from training_workloads.validation import check

__all__ = ["JobIdentity"]


@jsii.implements(iam.IGrantable)
class JobIdentity(Construct):
    """A service account whose pods read and write objects under one prefix, and nothing else in AWS.

    The role comes from EKS Pod Identity, not from the node: pods under another service account get nothing. It is a
    grantee: `bucket.grant_read(identity)` adds to its permissions.

    Attributes:
        role: The IAM role.
        service_account: The Kubernetes manifest of the service account.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster | eks.Cluster,
        bucket: s3.IBucket,
        prefix: str,
        service_account: str,
        namespace: str = "default",
        allow_delete: bool = False,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Define role, association and service account.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster, with the add-on eks-pod-identity-agent.
            bucket: The bucket of datasets and results.
            prefix: Folder of the bucket, such as `runs/resnet50`; `/` for the whole bucket.
            service_account: Name of the service account, as in the job's pods.
            namespace: Namespace of the job, which must exist. Default: `default`.
            allow_delete: Whether the job may delete objects too. Default: no.
            encryption_key: Key of the bucket. Default: the bucket's own, if the bucket knows it.

        Raises:
            InputError: `prefix` is empty, is not a folder or has a wildcard, Kubernetes does not allow a name, the
                cluster has no kubectl, another construct owns the service account, or `allow_delete` is not a bool.
        """
        super().__init__(scope, id)
        check(
            valid_cluster("cluster", cluster),
            valid_bucket(bucket),
            valid_prefix("prefix", prefix),
            valid_flag("allow_delete", allow_delete),
            dns_label("service_account", service_account),
            dns_label("namespace", namespace),
            valid_key(encryption_key),
        )
        target = cast(eks.ICluster, cluster)
        own(self, target, f"role of service account {namespace}/{service_account}")
        self.role = PodRole(self, "Role", cluster=cluster, namespace=namespace, service_account=service_account)
        allow_folder(self, self.role, bucket, prefix, delete=allow_delete)
        allow_key_through_s3(self.role, encryption_key or bucket.encryption_key)
        self.service_account = apply_manifest(
            self, "ServiceAccount", cluster=target, documents=[_manifest(service_account, namespace)]
        )
        # A pod that starts before the association runs without the role.
        self.service_account.node.add_dependency(self.role)
        after_network_addons(self, cluster)
        after_namespaces(self, cluster, namespace)

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The role of the pods."""
        return self.role


def _manifest(name: str, namespace: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
        # Pod Identity mounts another token; a job does not call the Kubernetes API.
        "automountServiceAccountToken": False,
    }
