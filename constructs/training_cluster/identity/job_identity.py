"""What a job may read and write in S3: one prefix of one bucket, by the service account of its pods."""

from aws_cdk import Aws, Token
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import check_cluster, check_flag, check_folder
from training_cluster.identity.pod_identity import PodRole
from training_cluster.owner import own
from training_cluster.suppressions import accept_wildcard
from training_workloads import InputError
from training_workloads.names import check_dns_label

__all__ = ["JobIdentity", "check_prefix"]

_READ = ("s3:GetObject",)
_WRITE = ("s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
_DELETE = ("s3:DeleteObject",)


class JobIdentity(Construct):
    """A service account whose pods read and write objects under one prefix, and nothing else in AWS.

    The role comes from EKS Pod Identity, not from the node: pods under another service account get nothing.

    Attributes:
        role: The IAM role.
        service_account: The Kubernetes manifest of the service account.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        bucket: s3.IBucket,
        prefix: str,
        service_account: str,
        namespace: str = "default",
        allow_delete: bool = False,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Defines role, association and service account.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster, with the add-on eks-pod-identity-agent.
            bucket: The bucket of datasets and results.
            prefix: Folder of the bucket, such as `runs/resnet50`; `/` for the whole bucket.
            service_account: Name of the service account, as the job's pods give it.
            namespace: Namespace of the job, which must exist.
            allow_delete: Whether the job may delete objects too.
            encryption_key: Key of the bucket. Default: the bucket's own, if it tells it.

        Raises:
            InputError: `prefix` is empty, is no folder or has a wildcard, a name is not one of Kubernetes, the cluster
                has no kubectl, or `allow_delete` is not a bool.
        """
        super().__init__(scope, id)
        check_cluster("cluster", cluster)
        check_prefix("prefix", prefix)
        check_flag("allow_delete", allow_delete)
        check_dns_label("service_account", service_account)
        check_dns_label("namespace", namespace)
        own(self, cluster, f"role of service account {namespace}/{service_account}")
        identity = PodRole(self, "Role", cluster=cluster, namespace=namespace, service_account=service_account)
        self.role = identity.role
        self._grant_objects(bucket, prefix.strip("/"), allow_delete)
        self._grant_key(encryption_key or bucket.encryption_key)
        self.service_account = eks.KubernetesManifest(
            self, "ServiceAccount", cluster=cluster, manifest=[_manifest(service_account, namespace)]
        )
        # A pod that starts before the association goes without the role.
        self.service_account.node.add_dependency(identity)

    def _grant_objects(self, bucket: s3.IBucket, folder: str, allow_delete: bool) -> None:
        objects = bucket.arn_for_objects(f"{folder}/*" if folder else "*")
        actions = [*_READ, *_WRITE, *(_DELETE if allow_delete else ())]
        self.role.add_to_principal_policy(iam.PolicyStatement(actions=actions, resources=[objects]))
        accept_wildcard(self, "the objects under the job's own prefix, whose names only the job knows", objects)
        # Without a condition the names of all objects could be listed.
        below = {"StringLike": {"s3:prefix": [folder, f"{folder}/*"]}} if folder else {}
        listing = iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn], conditions=below)
        self.role.add_to_principal_policy(listing)

    def _grant_key(self, key: kms.IKey | None) -> None:
        if key is None:
            return
        # Only on behalf of S3: the job cannot open a volume or a secret with it.
        via = {"StringEquals": {"kms:ViaService": f"s3.{Aws.REGION}.amazonaws.com"}}
        actions = ["kms:Decrypt", "kms:GenerateDataKey"]
        self.role.add_to_principal_policy(iam.PolicyStatement(actions=actions, resources=[key.key_arn], conditions=via))


def check_prefix(argument: str, prefix: str) -> None:
    """Refuses a prefix that names more than one folder, or the whole bucket by accident.

    Raises:
        InputError: `prefix` is empty, has the bucket in it or a part that is no folder, or has a wildcard or a variable
            of IAM.
    """
    if Token.is_unresolved(prefix):
        return
    if not isinstance(prefix, str) or not prefix.strip():
        raise InputError(
            f"{argument!r} is {prefix!r}; give a folder of the bucket, such as runs/resnet50, or / for all"
        )
    check_folder(argument, prefix)
    if wildcards := [character for character in "*?$" if character in prefix]:
        raise InputError(
            f"{argument!r} is {prefix!r}, in which IAM reads {' and '.join(wildcards)} as a wildcard or a variable; "
            "give the name of a folder"
        )


def _manifest(name: str, namespace: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
        # Pod Identity brings a token of its own; a job has nothing to ask of Kubernetes.
        "automountServiceAccountToken": False,
    }
