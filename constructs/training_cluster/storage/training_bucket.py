"""The bucket of datasets and results, which outlives a cluster."""

from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import Key
from training_cluster.constant_exports import export_always
from training_cluster.stack_order import order_stacks
from training_cluster.suppressions import suppress
from training_workloads.keywords import checked

__all__ = ["PRIVATE_AND_KEPT", "TrainingBucket", "retain_policy"]

# A checkpoint that a later one replaced is an old version: a month is enough to notice a mistake.
_OLD_VERSIONS_KEPT = Duration.days(30)
_ACCESS_LOGS_KEPT = Duration.days(90)
# Parts of unfinished uploads cost as much as objects, and no listing shows them.
_UNFINISHED_UPLOADS_KEPT = Duration.days(7)

_TIDY = s3.LifecycleRule(
    noncurrent_version_expiration=_OLD_VERSIONS_KEPT,
    abort_incomplete_multipart_upload_after=_UNFINISHED_UPLOADS_KEPT,
    expired_object_delete_marker=True,
)

#: The properties of every bucket.
PRIVATE_AND_KEPT: dict[str, Any] = {
    "block_public_access": s3.BlockPublicAccess.BLOCK_ALL,
    "enforce_ssl": True,
    "versioned": True,
    "removal_policy": RemovalPolicy.RETAIN,
}


class TrainingBucket(s3.Bucket):
    """A private, encrypted, versioned bucket: datasets in, checkpoints and results out. Retained on deletion.

    Attributes:
        access_logs: The bucket in which S3 records each request, for 90 days. It is beside this one in the tree, with
            the id `<id>AccessLogs`.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, encryption_key: Key | None = None) -> None:
        """Define the bucket.

        Args:
            encryption_key: Key of the objects. FSx for Lustre uses it too: see `TrainingKey`. Default: a key of S3.

        Raises:
            InputError: `encryption_key` is of another type.
        """
        order_stacks(scope, id, encryption_key=encryption_key)
        self.access_logs = _access_logs(scope, f"{id}AccessLogs")
        super().__init__(
            scope,
            id,
            **PRIVATE_AND_KEPT,
            encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            # One data key for many objects: small files cost no KMS request each.
            bucket_key_enabled=True if encryption_key else None,
            lifecycle_rules=[_TIDY],
            server_access_logs_bucket=self.access_logs,
            server_access_logs_prefix="training/",
        )
        retain_policy(self)
        retain_policy(self.access_logs)
        export_always(self, self.bucket_name, self.bucket_arn)


def _access_logs(scope: Construct, id: str) -> s3.Bucket:
    bucket = s3.Bucket(
        scope,
        id,
        **PRIVATE_AND_KEPT,
        # S3 writes access logs into no bucket with a KMS key:
        # https://docs.aws.amazon.com/AmazonS3/latest/userguide/enable-server-access-logging.html
        encryption=s3.BucketEncryption.S3_MANAGED,
        lifecycle_rules=[_TIDY, s3.LifecycleRule(expiration=_ACCESS_LOGS_KEPT)],
    )
    suppress(bucket, "these are the access logs; logging their delivery would never end", "CKV_AWS_18")
    return bucket


def retain_policy(bucket: s3.Bucket) -> None:
    """Retain the policy too: a bucket without it would accept plain-text requests."""
    if bucket.policy:
        bucket.policy.apply_removal_policy(RemovalPolicy.RETAIN)
