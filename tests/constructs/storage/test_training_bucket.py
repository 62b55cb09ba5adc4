import json
from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from tests.constructs.site import properties
from training_cluster import TrainingBucket, TrainingKey
from training_workloads import InputError


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Stack")


def bucket_and_logs(template: assertions.Template) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    buckets = template.find_resources("AWS::S3::Bucket").values()
    (bucket,) = [each for each in buckets if "LoggingConfiguration" in each["Properties"]]
    (logs,) = [each for each in buckets if "LoggingConfiguration" not in each["Properties"]]
    return bucket, logs


def encryption(bucket: Mapping[str, Any]) -> dict[str, Any]:
    (rule,) = bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    return dict(rule)


@pytest.fixture(scope="module")
def plain() -> assertions.Template:
    """The template of a bucket without options."""
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingBucket(stack, "Bucket")
    return assertions.Template.from_stack(stack)


def test_the_bucket_is_private_encrypted_versioned_and_retained(plain: assertions.Template) -> None:
    for bucket in bucket_and_logs(plain):
        assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("Retain", "Retain")
        assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
        assert bucket["Properties"]["VersioningConfiguration"] == {"Status": "Enabled"}
        assert encryption(bucket) == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}


def test_rejects_requests_without_tls(plain: assertions.Template) -> None:
    policies = properties(plain, "AWS::S3::BucketPolicy")
    assert len(policies) == 2
    for policy in policies:
        (statement,) = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Deny"]
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_rejects_the_alias_of_a_key(stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingBucket(stack, "Bucket", encryption_key="alias/training")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("encryption_key",)]


def test_logs_each_request(stack: cdk.Stack) -> None:
    construct = TrainingBucket(stack, "Bucket")
    bucket, _ = bucket_and_logs(assertions.Template.from_stack(stack))
    assert bucket["Properties"]["LoggingConfiguration"]["DestinationBucketName"] == stack.resolve(
        construct.access_logs.bucket_name
    )


def test_old_versions_and_unfinished_uploads_expire(plain: assertions.Template) -> None:
    bucket, logs = bucket_and_logs(plain)
    tidy = {
        "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
        "ExpiredObjectDeleteMarker": True,
        "Status": "Enabled",
    }
    assert bucket["Properties"]["LifecycleConfiguration"]["Rules"] == [tidy]
    assert logs["Properties"]["LifecycleConfiguration"]["Rules"] == [
        tidy,
        {"ExpirationInDays": 90, "Status": "Enabled"},
    ]


def test_it_is_a_bucket_of_the_cdk(stack: cdk.Stack) -> None:
    bucket = TrainingBucket(stack, "Bucket", encryption_key=TrainingKey(stack, "Key"))
    assert isinstance(bucket, s3.Bucket)
    bucket.grant_read(iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")), "datasets/*")
    (policy,) = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    text = json.dumps(policy["PolicyDocument"]["Statement"])
    assert all(action in text for action in ("s3:GetObject*", "kms:Decrypt"))


def test_a_key_encrypts_the_objects_but_not_the_access_logs(stack: cdk.Stack) -> None:
    key = TrainingKey(stack, "Key")
    bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
    resource, logs = bucket_and_logs(assertions.Template.from_stack(stack))
    assert encryption(resource) == {
        "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": stack.resolve(key.key_arn)},
        "BucketKeyEnabled": True,
    }
    assert encryption(logs)["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert bucket.encryption_key is key
