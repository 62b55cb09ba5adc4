"""The key that encrypts the data of a cluster: secrets, volumes, objects, images, file systems and logs."""

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.constant_exports import export_always
from training_cluster.suppressions import suppress
from training_workloads.keywords import checked

__all__ = ["TrainingKey"]

_USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


class TrainingKey(kms.Key):
    """A customer managed key that rotates every year. Retained on deletion: without it the data is lost.

    IAM policies of the account control it, as is KMS's default. Its own policy adds the principals that no policy of
    the account reaches: the service-linked roles of EC2 Auto Scaling and of FSx, and CloudWatch Logs.
    """

    @checked
    def __init__(self, scope: Construct, id: str) -> None:
        """Define the key.

        Raises:
            InputError: The scope is in no stack, or has a construct of this id.
        """
        super().__init__(
            scope,
            id,
            description="Training: secrets, volumes, objects, images, file systems and logs",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        for statement in (_volumes_of_nodes(), _lustre_in_the_bucket(), _log_groups()):
            self.add_to_resource_policy(statement)
        suppress(self, "the wildcard means callers of this account, through one service each", "CKV_AWS_33")
        export_always(self, self.key_arn)


def _volumes_of_nodes() -> iam.PolicyStatement:
    """Allow EC2 to use the key for every principal that may use EC2, as AWS's own key for EBS does.

    EC2 Auto Scaling launches nodes as its service-linked role. An encrypted volume on a key that does not admit the
    role ends every launch with Client.InternalError. The statement cannot name the role: before an account's first Auto
    Scaling group it does not exist, and KMS rejects a policy with a principal that does not exist.
    https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
    """
    return _every_principal_of_the_account("VolumesOfNodes", "ec2", [*_USE, "kms:CreateGrant"])


def _lustre_in_the_bucket() -> iam.PolicyStatement:
    """Allow FSx for Lustre to read and write the objects of a bucket that uses the key.

    FSx creates a service-linked role for each file system, whose name is not known beforehand; its sessions are called
    FSx. The statement does not name the bucket: the bucket's definition names the key, which would be a cycle.
    https://docs.aws.amazon.com/fsx/latest/LustreGuide/s3-server-side-encryption-support.html
    """
    statement = _every_principal_of_the_account("LustreInTheBucket", "s3", _USE)
    statement.add_condition("StringLike", {"aws:userid": "*:FSx"})
    return statement


def _log_groups() -> iam.PolicyStatement:
    """Allow CloudWatch Logs to encrypt log groups of this account and region.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    """
    groups = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:*"
    return iam.PolicyStatement(
        sid="LogGroups",
        principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.{Aws.URL_SUFFIX}")],
        actions=_USE,
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )


def _every_principal_of_the_account(sid: str, service: str, actions: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        principals=[iam.AnyPrincipal()],
        actions=actions,
        resources=["*"],
        conditions={
            "StringEquals": {
                "kms:CallerAccount": Aws.ACCOUNT_ID,
                "kms:ViaService": f"{service}.{Aws.REGION}.{Aws.URL_SUFFIX}",
            }
        },
    )
