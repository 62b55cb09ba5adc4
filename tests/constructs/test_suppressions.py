"""Suppressions: what the template has, and what the scanner skips."""

from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from scan.nag import checked_app, nag_findings
from training_cluster.suppressions import children_of_type, suppress, suppress_policy, suppress_wildcard


def test_reasons_stand_beside_the_resource() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    bucket = s3.Bucket(stack, "Bucket")
    suppress(bucket, "first", "CKV_AWS_18", "W3005")
    suppress(bucket, "second", "CKV_AWS_21")
    suppress(bucket, "second", "CKV_AWS_21")
    (made,) = assertions.Template.from_stack(stack).find_resources("AWS::S3::Bucket").values()
    assert made["Metadata"] == {
        "checkov": {"skip": [{"id": "CKV_AWS_18", "comment": "first"}, {"id": "CKV_AWS_21", "comment": "second"}]},
        "cfn-lint": {"config": {"ignore_checks": ["W3005"]}, "reasons": ["first"]},
    }


def test_a_construct_without_a_resource_cannot_carry_one() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    with pytest.raises(TypeError, match="Stack has no primary resource"):
        suppress(stack, "no", "CKV_AWS_18")


def test_resources_are_found_by_type() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    s3.Bucket(stack, "Bucket", enforce_ssl=True)
    assert [child.node.path for child in children_of_type(stack, "AWS::S3::Bucket")] == ["Stack/Bucket/Resource"]


@pytest.mark.parametrize("accepted", [True, False])
def test_policies_and_wildcards_even_on_resources_of_other_stacks(accepted: bool, tmp_path: Path) -> None:
    app = checked_app(tmp_path / "out", {"@aws-cdk/core:stackRelativeExports": True})
    data = cdk.Stack(app, "Data")
    bucket = s3.Bucket(data, "Bucket")
    suppress(bucket, "not what is tested", "AwsSolutions-S1", "AwsSolutions-S10")
    stack = cdk.Stack(app, "Stack")
    policy = "service-role/AWSLambdaBasicExecutionRole"
    role = iam.Role(
        stack,
        "Role",
        assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(policy)],
    )
    objects = bucket.arn_for_objects("runs/*")
    role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=[objects]))
    if accepted:
        suppress_policy(role, "logs", policy)
        suppress_wildcard(role, "its own folder", objects)
        app.synth()
    else:
        with pytest.raises(RuntimeError, match="ValidationFailed"):
            app.synth()
    rules = {finding.rule.partition("[")[0] for finding in nag_findings(tmp_path / "out")}
    assert rules == (set() if accepted else {"AwsSolutions-IAM4", "AwsSolutions-IAM5"})
