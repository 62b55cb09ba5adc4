from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_s3 as s3

from tests.constructs.site import properties
from training_cluster import ImageRepository, SageMakerTrainingRole, TrainingBucket, TrainingKey
from training_workloads import InputError


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Stack")


def define(stack: cdk.Stack, **more: Any) -> SageMakerTrainingRole:
    given = {"bucket": s3.Bucket.from_bucket_name(stack, "Bucket", "data-of-the-team"), **more}
    return SageMakerTrainingRole(stack, "Role", repository=ImageRepository(stack, "Images"), **given)


def statements(stack: cdk.Stack) -> list[dict[str, Any]]:
    (policy,) = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    return list(policy["PolicyDocument"]["Statement"])


def with_action(stack: cdk.Stack, action: str) -> list[dict[str, Any]]:
    return [each for each in statements(stack) if action in each["Action"]]


def last(arn: Any) -> str:
    return str(arn["Fn::Join"][1][-1])


def test_sagemaker_assumes_it_for_this_account_only(stack: cdk.Stack) -> None:
    define(stack)
    (role,) = properties(assertions.Template.from_stack(stack), "AWS::IAM::Role")
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert "ManagedPolicyArns" not in role


def test_it_reads_the_data_and_writes_the_results(stack: cdk.Stack) -> None:
    define(stack)
    read, write = with_action(stack, "s3:GetObject")
    assert (read["Action"], last(read["Resource"])) == ("s3:GetObject", ":s3:::data-of-the-team/data/*")
    assert last(write["Resource"]) == ":s3:::data-of-the-team/runs/*"
    assert "s3:PutObject" in write["Action"]
    # Old checkpoints, of the results alone.
    assert "s3:DeleteObject" in write["Action"]
    conditions = [each["Condition"]["StringLike"]["s3:prefix"] for each in with_action(stack, "s3:ListBucket")]
    assert conditions == [["data", "data/*"], ["runs", "runs/*"]]


def test_the_folders_can_be_others(stack: cdk.Stack) -> None:
    define(stack, data_prefix="/", results_prefix="team/a")
    read, write = with_action(stack, "s3:GetObject")
    assert last(read["Resource"]) == ":s3:::data-of-the-team/*"
    assert last(write["Resource"]) == ":s3:::data-of-the-team/team/a/*"


def test_the_key_is_used_through_s3_only(stack: cdk.Stack) -> None:
    key = TrainingKey(stack, "Key")
    define(stack, bucket=TrainingBucket(stack, "Encrypted", encryption_key=key))
    (decryption,) = with_action(stack, "kms:Decrypt")
    assert decryption["Action"] == ["kms:Decrypt", "kms:GenerateDataKey", "kms:Encrypt"]
    assert decryption["Resource"] == stack.resolve(key.key_arn)
    assert "kms:ViaService" in decryption["Condition"]["StringEquals"]


def test_it_pulls_the_images_of_the_repository(stack: cdk.Stack) -> None:
    define(stack)
    (pull,) = with_action(stack, "ecr:BatchGetImage")
    assert pull["Resource"]["Fn::GetAtt"][0].startswith("Images")


def test_it_writes_the_logs_of_training_jobs_only(stack: cdk.Stack) -> None:
    define(stack)
    (logs,) = with_action(stack, "logs:PutLogEvents")
    assert [last(each) for each in logs["Resource"]] == [
        ":log-group:/aws/sagemaker/TrainingJobs",
        ":log-group:/aws/sagemaker/TrainingJobs:*",
    ]


def test_network_interfaces_have_no_filter(stack: cdk.Stack) -> None:
    """SageMaker's validation of a job in a VPC would fail."""
    define(stack)
    (everything,) = with_action(stack, "ec2:CreateNetworkInterface")
    assert "Condition" not in everything
    assert everything["Resource"] == "*"
    assert set(everything["Action"]) == {
        "ec2:CreateNetworkInterface",
        "ec2:CreateNetworkInterfacePermission",
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteNetworkInterfacePermission",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeVpcs",
        "ec2:DescribeDhcpOptions",
        "ec2:DescribeSubnets",
        "ec2:DescribeSecurityGroups",
    }


def test_it_is_a_grantee(stack: cdk.Stack) -> None:
    s3.Bucket(stack, "Other").grant_read(define(stack))
    assert with_action(stack, "s3:GetObject*")


def test_reports_all_problems_together(stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        SageMakerTrainingRole(stack, "Role", bucket="b", repository="r", data_prefix="", results_prefix="runs/*")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [
        ("bucket",),
        ("repository",),
        ("data_prefix",),
        ("results_prefix",),
    ]
