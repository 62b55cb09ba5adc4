import json

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from app import build
from stacks import TrainingDataStack
from training_cluster import ClusterConfig


def test_key_bucket_and_images_outlive_the_stack(data_template: assertions.Template) -> None:
    for kind, number in (("AWS::KMS::Key", 1), ("AWS::S3::Bucket", 3), ("AWS::ECR::Repository", 1)):
        resources = data_template.find_resources(kind).values()
        assert len(resources) == number, kind
        for resource in resources:
            assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain"), kind


def test_the_key_encrypts_objects_and_images(data_template: assertions.Template) -> None:
    (key,) = data_template.find_resources("AWS::KMS::Key")
    arn = {"Fn::GetAtt": [key, "Arn"]}
    (repository,) = data_template.find_resources("AWS::ECR::Repository").values()
    assert repository["Properties"]["EncryptionConfiguration"] == {"EncryptionType": "KMS", "KmsKey": arn}
    buckets = [bucket["Properties"] for bucket in data_template.find_resources("AWS::S3::Bucket").values()]
    (bucket,) = [bucket for bucket in buckets if "LoggingConfiguration" in bucket]
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": arn}


def test_the_outputs_name_them(data_template: assertions.Template) -> None:
    outputs = data_template.to_json()["Outputs"]
    assert {"BucketName", "ImageBuildProject", "ImageSourceBucket", "ImageRepositoryUri", "KeyArn"} <= set(outputs)


def test_its_attributes_are_the_resources() -> None:
    stack = TrainingDataStack(cdk.App(), "Data")
    assert isinstance(stack.key, kms.Key)
    assert isinstance(stack.bucket, s3.Bucket)
    assert isinstance(stack.repository, ecr.Repository)
    assert isinstance(stack.image_build, codebuild.Project)


KEY = "arn:aws:kms:us-east-1:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


def test_existing_data_is_no_part_of_the_stack() -> None:
    stack = TrainingDataStack(
        cdk.App(), "Data", existing_bucket="my-data", existing_key=KEY, existing_repository="images"
    )
    template = assertions.Template.from_stack(stack)
    # That of the uploaded folders.
    (bucket,) = template.find_resources("AWS::S3::Bucket").values()
    (rule,) = bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}
    assert template.find_resources("AWS::KMS::Key") == template.find_resources("AWS::ECR::Repository") == {}
    outputs = template.to_json()["Outputs"]
    assert (outputs["BucketName"]["Value"], outputs["KeyArn"]["Value"]) == ("my-data", KEY)
    assert outputs["ImageRepositoryUri"]["Value"]["Fn::Join"][1][-1] == "/images"


def test_jobs_may_use_the_key_of_an_existing_bucket() -> None:
    config = ClusterConfig(
        node_groups={"gpu": {"instance_type": "p4d.24xlarge"}},  # type: ignore[dict-item]
        service_accounts={"trainer": {"prefix": "runs"}},  # type: ignore[dict-item]
        existing_bucket="my-data",
        existing_key=KEY,
    )
    template = build(config).synth().get_stack_by_name("TrainingClusterStack").template
    policies = [each for each in template["Resources"].values() if each["Type"] == "AWS::IAM::Policy"]
    statements = [each for policy in policies for each in policy["Properties"]["PolicyDocument"]["Statement"]]
    assert any(each["Resource"] == KEY and "kms:Decrypt" in each["Action"] for each in statements)
    assert any("my-data/runs/*" in json.dumps(each["Resource"]) for each in statements)
    (association,) = [
        each for each in template["Resources"].values() if each["Type"] == "AWS::FSx::DataRepositoryAssociation"
    ]
    assert association["Properties"]["DataRepositoryPath"].startswith("s3://my-data")


def test_a_new_key_is_not_that_of_an_existing_bucket() -> None:
    stack = TrainingDataStack(cdk.App(), "Data", existing_bucket="my-data")
    assert stack.bucket.encryption_key is None
