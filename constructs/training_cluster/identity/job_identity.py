"""The permissions of a job in S3: one prefix of one bucket, by the service account of its pods."""

from typing import Annotated, cast

import jsii
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct
from pydantic import Field

from training_cluster.checks import Bucket, Cluster, Key
from training_cluster.identity.folder_access import Folder, allow_folder, allow_key_through_s3, warn_of_an_unknown_key
from training_cluster.identity.pod_identity import PodRole
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import after_namespaces, after_network_addons
from training_cluster.single_owner import own
from training_cluster.stack_order import order_stacks
from training_workloads.keywords import keywords_of
from training_workloads.names import dns_label
from training_workloads.spec import Checked, Spec

__all__ = ["JobIdentity", "JobIdentityOptions", "JobIdentitySpec"]


class JobIdentitySpec(Spec):
    """The permissions of a job in S3, by the service account of its pods.

    Attributes:
        prefix: Folder of the bucket that the pods read and write, such as `runs/resnet50`; `/` for the whole bucket.
        namespace: Namespace of the job and of its service account, which must exist.
        allow_delete: Whether the pods may delete objects too.
    """

    prefix: Folder = Field(examples=["runs/resnet50"])
    namespace: Annotated[str, Checked(dns_label)] = "default"
    allow_delete: bool = False


class JobIdentityOptions(JobIdentitySpec):
    """The keywords of `add_job_identity`.

    Attributes:
        bucket: The bucket of datasets and results.
        service_account: Name of the service account, as in the job's pods. Default: the id.
        encryption_key: Key of the bucket. Default: the bucket's own, if the bucket knows it.
    """

    bucket: Bucket
    service_account: Annotated[str, Checked(dns_label)] | None = None
    encryption_key: Key | None = None


class JobIdentityProps(JobIdentityOptions):
    """The keywords of `JobIdentity`.

    Attributes:
        cluster: The cluster, with the add-on eks-pod-identity-agent.
        service_account: Name of the service account, as in the job's pods.
    """

    cluster: Cluster
    service_account: Annotated[str, Checked(dns_label)]


@jsii.implements(iam.IGrantable)
class JobIdentity(Construct):
    """A service account whose pods read and write objects under one prefix, and nothing else in AWS.

    The role comes from EKS Pod Identity, not from the node: pods under another service account get nothing. It is a
    grantee: `bucket.grant_read(identity)` adds to its permissions.

    Attributes:
        role: The IAM role.
        service_account: The Kubernetes manifest of the service account.
    """

    @keywords_of(JobIdentityProps)
    def __init__(self, scope: Construct, id: str, props: JobIdentityProps) -> None:
        """Define role, association and service account.

        Raises:
            InputError: `prefix` is empty, is not a folder or has a wildcard, Kubernetes does not allow a name, the
                cluster has no kubectl, or another construct owns the service account.
        """
        order_stacks(scope, id, bucket=props.bucket, encryption_key=props.encryption_key)
        super().__init__(scope, id)
        cluster, namespace, service_account = props.cluster, props.namespace, props.service_account
        target = cast(eks.ICluster, cluster)
        own(self, target, f"role of service account {namespace}/{service_account}")
        self.role = PodRole(self, "Role", cluster=cluster, namespace=namespace, service_account=service_account)
        allow_folder(self, self.role, props.bucket, props.prefix, delete=props.allow_delete)
        allow_key_through_s3(self.role, props.encryption_key or props.bucket.encryption_key)
        if props.encryption_key is None:
            warn_of_an_unknown_key(self, props.bucket)
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
