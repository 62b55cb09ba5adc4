import aws_cdk as cdk
from aws_cdk import assertions

from training_cluster import ImageRepository, TrainingBucket


def test_the_bucket_is_private_encrypted_versioned_and_retained() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingBucket(stack, "Bucket")
    template = assertions.Template.from_stack(stack)
    (bucket,) = template.find_resources("AWS::S3::Bucket").values()
    assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["Properties"]["VersioningConfiguration"] == {"Status": "Enabled"}
    (encryption,) = bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    (policy,) = template.find_resources("AWS::S3::BucketPolicy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_images_are_scanned_kept_and_their_tags_final() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    ImageRepository(stack, "Images")
    (repository,) = assertions.Template.from_stack(stack).find_resources("AWS::ECR::Repository").values()
    assert repository["DeletionPolicy"] == "Retain"
    assert repository["Properties"]["ImageTagMutability"] == "IMMUTABLE"
    assert repository["Properties"]["ImageScanningConfiguration"] == {"ScanOnPush": True}
