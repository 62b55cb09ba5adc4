from typing import Any

import pytest

from tests.constructs.team.policy_evaluation import allowed, as_text

READ: dict[str, Any] = {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": "arn:b/a/*"}
BELOW = {"StringLike": {"s3:prefix": ["a", "a/*"]}}


@pytest.mark.parametrize(
    ("statements", "action", "resource", "context", "expected"),
    [
        ([READ], "s3:GetObject", "arn:b/a/x", {}, True),
        ([READ], "s3:GetObject", "arn:b/ab/x", {}, False),
        ([READ], "s3:PutObject", "arn:b/a/x", {}, False),
        ([], "s3:GetObject", "arn:b/a/x", {}, False),
        ([READ, {**READ, "Effect": "Deny", "Action": "*"}], "s3:GetObject", "arn:b/a/x", {}, False),
        ([READ | {"Condition": BELOW}], "s3:GetObject", "arn:b/a/x", {"s3:prefix": "a/c"}, True),
        ([READ | {"Condition": BELOW}], "s3:GetObject", "arn:b/a/x", {"s3:prefix": "b"}, False),
        ([READ | {"Condition": BELOW}], "s3:GetObject", "arn:b/a/x", {}, False),
    ],
)
def test_evaluates_as_iam_does(
    statements: list[dict[str, Any]], action: str, resource: str, context: dict[str, str], expected: bool
) -> None:
    assert allowed(statements, action, resource, context) is expected


def test_references_are_text() -> None:
    value = {"Fn::Join": ["", ["arn:", {"Ref": "P"}, {"Fn::GetAtt": ["B", "Arn"]}]]}
    assert as_text([value]) == ["arn:<P><B.Arn>"]
