"""The key that encrypts what a cluster keeps: secrets, volumes, objects, images, file systems and logs."""

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.suppressions import accept

__all__ = ["TrainingKey"]

_USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


class TrainingKey(Construct):
    """A customer managed key that rotates every year. Retained on deletion: without it the data is lost.

    IAM policies of the account decide about it, as is KMS's default. On top of that, its policy lets in those that no
    policy of the account reaches: the service-linked roles of EC2 Auto Scaling and of FSx, and CloudWatch Logs.

    Attributes:
        key: The key.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        """Defines the key.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
        """
        super().__init__(scope, id)
        self.key = kms.Key(
            self,
            "Resource",
            description="Training: secrets, volumes, objects, images, file systems and logs",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        for statement in (_volumes_of_nodes(), _lustre_in_the_bucket(), _log_groups()):
            self.key.add_to_resource_policy(statement)
        accept(self.key, "everybody means callers from this account, and through one service each", "CKV_AWS_33")


def _volumes_of_nodes() -> iam.PolicyStatement:
    """Lets EC2 use the key for whoever in the account may use EC2, as AWS's own key for EBS does.

    EC2 Auto Scaling launches nodes as its service-linked role, and an encrypted volume on a key that does not let it
    in ends every launch with Client.InternalError. Naming the role is no way out: before an account's first Auto
    Scaling group it does not exist, and KMS refuses a policy with a principal that does not exist.
    https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
    """
    return _anybody_in_the_account("VolumesOfNodes", "ec2", [*_USE, "kms:CreateGrant"])


def _lustre_in_the_bucket() -> iam.PolicyStatement:
    """Lets FSx for Lustre read and write the objects of a bucket that uses the key.

    FSx makes a service-linked role for each file system, whose name nobody knows beforehand; its sessions are called
    FSx. The bucket is not named: its own definition names the key, and each cannot wait for the other.
    https://docs.aws.amazon.com/fsx/latest/LustreGuide/s3-server-side-encryption-support.html
    """
    statement = _anybody_in_the_account("LustreInTheBucket", "s3", _USE)
    statement.add_condition("StringLike", {"aws:userid": "*:FSx"})
    return statement


def _log_groups() -> iam.PolicyStatement:
    """Lets CloudWatch Logs encrypt log groups of this account and region.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    """
    groups = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:*"
    return iam.PolicyStatement(
        sid="LogGroups",
        principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com")],
        actions=_USE,
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )


def _anybody_in_the_account(sid: str, service: str, actions: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        principals=[iam.AnyPrincipal()],
        actions=actions,
        resources=["*"],
        conditions={
            "StringEquals": {
                "kms:CallerAccount": Aws.ACCOUNT_ID,
                "kms:ViaService": f"{service}.{Aws.REGION}.amazonaws.com",
            }
        },
    )
