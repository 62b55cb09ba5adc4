import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from stacks import TrainingDataStack


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
