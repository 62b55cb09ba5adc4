from collections.abc import Callable

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from constructs import Construct

from training_cluster import ImageRepository, TrainingBucket, TrainingKey


def in_stack(stack: cdk.Stack) -> Construct:
    return stack


def in_nested_stack(stack: cdk.Stack) -> Construct:
    return cdk.NestedStack(stack, "Nested")


def exports(scope: Callable[[cdk.Stack], Construct], *, imported: bool) -> dict[str, str]:
    """Return the exports of a stack with data, of which another stack imports everything or nothing."""
    app = cdk.App()
    data, other = cdk.Stack(app, "Data"), cdk.Stack(app, "Other")
    where = scope(data)
    key = TrainingKey(where, "Key")
    bucket = TrainingBucket(where, "Bucket", encryption_key=key)
    images = ImageRepository(where, "Images", encryption_key=key)
    values = [bucket.bucket_name, bucket.bucket_arn, key.key_arn, images.repository_uri, images.repository_arn]
    for number, value in enumerate(values if imported else ["nothing"]):
        cdk.CfnOutput(other, f"Output{number}", value=value)
    outputs = assertions.Template.from_stack(data).to_json()["Outputs"].values()
    return {each["Export"]["Name"]: str(each["Value"]) for each in outputs}


@pytest.mark.parametrize("scope", [in_stack, in_nested_stack])
def test_data_has_the_same_exports_whether_another_stack_imports_them_or_not(
    scope: Callable[[cdk.Stack], Construct],
) -> None:
    found = exports(scope, imported=False)
    assert found == exports(scope, imported=True)
    assert len(found) == 5


def test_an_app_may_still_name_the_resources() -> None:
    stack = cdk.Stack(cdk.App(), "Data")
    bucket = TrainingBucket(stack, "Bucket").node.default_child
    assert isinstance(bucket, cdk.CfnResource)
    bucket.override_logical_id("Deployed")
    outputs = assertions.Template.from_stack(stack).to_json()["Outputs"].values()
    assert [each["Value"] for each in outputs] == [{"Ref": "Deployed"}, {"Fn::GetAtt": ["Deployed", "Arn"]}]
