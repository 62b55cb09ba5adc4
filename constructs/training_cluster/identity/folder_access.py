"""Permissions of a role on the objects of one folder of a bucket, and on the key of the bucket."""

from typing import Annotated, Any

from aws_cdk import Annotations, Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import KnownChecked, valid_folder
from training_cluster.suppressions import suppress_wildcard
from training_workloads.validation import Problem, Problems

__all__ = ["Folder", "allow_folder", "allow_key_through_s3", "warn_of_an_unknown_key"]

_READ = ("s3:GetObject",)
_WRITE = ("s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
_DELETE = ("s3:DeleteObject",)


def allow_folder(
    scope: Construct, role: iam.Role, bucket: s3.IBucket, prefix: str, *, write: bool = True, delete: bool = False
) -> None:
    """Allow a role to list and to read the objects of a folder, `/` for the whole bucket; flags allow changes."""
    folder = prefix.strip("/")
    objects = bucket.arn_for_objects(f"{folder}/*" if folder else "*")
    actions = [*_READ, *(_WRITE if write else ()), *(_DELETE if delete else ())]
    role.add_to_principal_policy(iam.PolicyStatement(actions=actions, resources=[objects]))
    suppress_wildcard(scope, "the objects under the job's prefix, whose names only the job knows", objects)
    # Without a condition the names of all objects could be listed.
    below = {"StringLike": {"s3:prefix": [folder, f"{folder}/*"]}} if folder else {}
    listing = iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn], conditions=below)
    role.add_to_principal_policy(listing)


def allow_key_through_s3(role: iam.Role, key: kms.IKey | None, *more: str, write: bool = True) -> None:
    """Allow a role to use the key of a bucket, through S3 only: it cannot decrypt a volume or a secret with it.

    More actions go beside those that read objects and, by default, write them.
    """
    if key is None:
        return
    via = {"StringEquals": {"kms:ViaService": f"s3.{Aws.REGION}.{Aws.URL_SUFFIX}"}}
    actions = ["kms:Decrypt", *(["kms:GenerateDataKey"] if write else []), *more]
    role.add_to_principal_policy(iam.PolicyStatement(actions=actions, resources=[key.key_arn], conditions=via))


def warn_of_an_unknown_key(construct: Construct, bucket: s3.IBucket) -> None:
    """Warn of a bucket that was imported without its key: the synthesis does not see whether it has one."""
    if bucket.encryption_key is None and not isinstance(bucket, s3.Bucket):
        Annotations.of(construct).add_warning_v2(
            "cdk-training-cluster:bucket-without-its-key",
            f"the bucket {construct.node.path} reads was imported without a key; if it is encrypted with one of KMS, "
            "every request for an object ends with AccessDenied: import it with s3.Bucket.from_bucket_attributes(..., "
            "encryption_key=...)",
        )


def _prefix(name: str, prefix: Any) -> Problems:
    """Reject a prefix that names more than one folder, or the whole bucket by accident."""
    if not isinstance(prefix, str) or not prefix.strip():
        fix = "give a folder of the bucket, such as runs/resnet50, or / for all"
        yield Problem(path=(name,), given=prefix, fix=fix)
    elif mistakes := list(valid_folder(name, prefix)):
        yield from mistakes
    elif wildcards := [character for character in "*?$" if character in prefix]:
        allowed = f"IAM reads {' and '.join(wildcards)} as a wildcard or a variable"
        yield Problem(path=(name,), given=prefix, allowed=allowed, fix="give the name of a folder")


#: A folder of a bucket; `/` for the whole bucket.
Folder = Annotated[str, KnownChecked(_prefix)]
