"""The key that encrypts the data of a cluster: secrets, volumes, objects, images, file systems and logs."""

from collections.abc import Iterator
from typing import Any

from aws_cdk import Aws, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.constant_exports import export_always
from training_cluster.suppressions import suppress
from training_workloads.keywords import checked

__all__ = ["TrainingKey", "policy_of_an_own_key"]

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
        for statement in _statements_of_services(Aws.PARTITION, Aws.URL_SUFFIX, Aws.REGION, Aws.ACCOUNT_ID):
            self.add_to_resource_policy(statement)
        suppress(self, "the wildcard means callers of this account, through one service each", "CKV_AWS_33")
        export_always(self, self.key_arn)


def policy_of_an_own_key(
    *, partition: str, suffix: str, region: str, account: str, alarms: bool
) -> list[dict[str, Any]]:
    """Return the statements that the policy of an imported key must have: no stack changes it.

    Args:
        partition: The partition of AWS.
        suffix: The end of its domains, such as amazonaws.com.
        region: The region of the key.
        account: The account of key and cluster.
        alarms: Whether alarms send messages, which are encrypted with the key.
    """
    account_root = iam.ArnPrincipal(f"arn:{partition}:iam::{account}:root")
    by_iam = iam.PolicyStatement(sid="ByIam", principals=[account_root], actions=["kms:*"], resources=["*"])
    services = _statements_of_services(partition, suffix, region, account)
    statements = [by_iam, *services, *([_alarm_messages()] if alarms else [])]
    # A service's name is a token.
    found: list[dict[str, Any]] = Stack().resolve([each.to_statement_json() for each in statements])
    return found


def _alarm_messages() -> iam.PolicyStatement:
    """Allow CloudWatch to encrypt the messages of alarms, as `grant` does in the policy of a key of the app."""
    return iam.PolicyStatement(
        sid="AlarmMessages",
        principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
        actions=["kms:Decrypt", "kms:GenerateDataKey*"],
        resources=["*"],
    )


def _statements_of_services(partition: str, suffix: str, region: str, account: str) -> Iterator[iam.PolicyStatement]:
    """Yield the statements for the services that no IAM policy of the account reaches."""
    yield _volumes_of_nodes(f"ec2.{region}.{suffix}", account)
    yield _lustre_in_the_bucket(f"s3.{region}.{suffix}", account)
    yield _log_groups(f"logs.{region}.{suffix}", f"arn:{partition}:logs:{region}:{account}:log-group:*")


def _volumes_of_nodes(service: str, account: str) -> iam.PolicyStatement:
    """Allow EC2 to use the key for every principal that may use EC2, as AWS's own key for EBS does.

    EC2 Auto Scaling launches nodes as its service-linked role. An encrypted volume on a key that does not admit the
    role ends every launch with Client.InternalError. The statement cannot name the role: before an account's first Auto
    Scaling group it does not exist, and KMS rejects a policy with a principal that does not exist.
    https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
    """
    return _every_principal("VolumesOfNodes", service, account, [*_USE, "kms:CreateGrant"])


def _lustre_in_the_bucket(service: str, account: str) -> iam.PolicyStatement:
    """Allow FSx for Lustre to read and write the objects of a bucket that uses the key.

    FSx creates a service-linked role for each file system, whose name is not known beforehand; its sessions are called
    FSx. The statement does not name the bucket: the bucket's definition names the key, which would be a cycle.
    https://docs.aws.amazon.com/fsx/latest/LustreGuide/s3-server-side-encryption-support.html
    """
    statement = _every_principal("LustreInTheBucket", service, account, _USE)
    statement.add_condition("StringLike", {"aws:userid": "*:FSx"})
    return statement


def _log_groups(service: str, groups: str) -> iam.PolicyStatement:
    """Allow CloudWatch Logs to encrypt log groups of this account and region.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    """
    return iam.PolicyStatement(
        sid="LogGroups",
        principals=[iam.ServicePrincipal(service)],
        actions=_USE,
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )


def _every_principal(sid: str, service: str, account: str, actions: list[str]) -> iam.PolicyStatement:
    """Return a statement for every principal of the account, through one service."""
    return iam.PolicyStatement(
        sid=sid,
        principals=[iam.AnyPrincipal()],
        actions=actions,
        resources=["*"],
        conditions={"StringEquals": {"kms:CallerAccount": account, "kms:ViaService": service}},
    )
