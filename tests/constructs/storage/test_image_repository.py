import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from tests.constructs.site import properties
from training_cluster import ImageRepository, TrainingKey


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Stack")


def test_images_are_scanned_and_retained_and_tags_are_immutable(stack: cdk.Stack) -> None:
    ImageRepository(stack, "Images")
    (repository,) = assertions.Template.from_stack(stack).find_resources("AWS::ECR::Repository").values()
    assert repository["DeletionPolicy"] == "Retain"
    assert repository["Properties"]["ImageTagMutability"] == "IMMUTABLE"
    assert repository["Properties"]["ImageScanningConfiguration"] == {"ScanOnPush": True}


def test_a_key_encrypts_the_images(stack: cdk.Stack) -> None:
    key = kms.Key(stack, "Key")
    ImageRepository(stack, "Images", encryption_key=key)
    (repository,) = properties(assertions.Template.from_stack(stack), "AWS::ECR::Repository")
    assert repository["EncryptionConfiguration"] == {"EncryptionType": "KMS", "KmsKey": stack.resolve(key.key_arn)}


def test_it_is_a_repository_of_the_cdk(stack: cdk.Stack) -> None:
    images = ImageRepository(stack, "Images", encryption_key=TrainingKey(stack, "Key"))
    assert isinstance(images, ecr.Repository)
    images.grant_pull(iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    (policy,) = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    assert any("ecr:BatchGetImage" in each["Action"] for each in policy["PolicyDocument"]["Statement"])
