from collections.abc import Iterable
from typing import Any

import aws_cdk as cdk
import pytest

from tests.constructs.keyword import problems_of
from training_cluster.identity.principal_arns import PrincipalArns
from training_workloads.validation import Problem

ROLE = "arn:aws:iam::111122223333:role/team/Admin"


def texts(problems: Iterable[Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def test_accepts_roles_and_users_of_each_partition() -> None:
    arns = [ROLE, "arn:aws-us-gov:iam::111122223333:user/me", "arn:aws-eusc:iam::111122223333:role/Admin"]
    assert not texts(problems_of(PrincipalArns, arns))


@pytest.mark.parametrize(
    ("arns", "message"),
    [
        (ROLE, f"'a' is '{ROLE}'; give a list: ['{ROLE}']"),
        (
            ["arn:aws:sts::111122223333:assumed-role/Admin/me"],
            "'a[0]' is 'arn:aws:sts::111122223333:assumed-role/Admin/me', but that is a session; give its role, such "
            "as arn:aws:iam::111122223333:role/Admin (with the role's path, if it has one)",
        ),
        (
            ["Admin"],
            "'a[0]' is 'Admin'; give ARNs of IAM roles or users, such as arn:aws:iam::111122223333:role/Admin",
        ),
        (
            ["arn:aws:iam::111122223333:root"],
            "'a[0]' is 'arn:aws:iam::111122223333:root'; give ARNs of IAM roles or users, "
            "such as arn:aws:iam::111122223333:role/Admin",
        ),
        (
            ["arn:aws:iam::111122223333:role/*"],
            "'a[0]' is 'arn:aws:iam::111122223333:role/*'; give ARNs of IAM roles or users, such as "
            "arn:aws:iam::111122223333:role/Admin",
        ),
        *(
            ([arn], f"'a[0]' is '{arn}'; give ARNs of IAM roles or users, such as arn:aws:iam::111122223333:role/Admin")
            for arn in (
                "arn:awz:iam::111122223333:role/Admin",
                "arn:aws:iam::١١١١٢٢٢٢٣٣٣٣:role/Admin",
                "arn:aws:iam::111122223333:role/*/Admin",
                "arn:aws:iam::111122223333:role/Ädmin",
            )
        ),
        (
            ["arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS"],
            "'a[0]' is 'arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS', "
            "but EKS does not accept the role of an AWS service; give a role or user of your account",
        ),
        (
            [None],
            "'a[0]' is None; give text",
        ),
        ([ROLE, ROLE], f"'a' is ['{ROLE}', '{ROLE}']; give each ARN once"),
    ],
)
def test_rejects_principals_that_eks_rejects(arns: Any, message: str) -> None:
    assert texts(problems_of(PrincipalArns, arns)) == [message]


def test_reports_every_principal() -> None:
    session = "arn:aws:sts::111122223333:assumed-role/Admin/me"
    problems = problems_of(PrincipalArns, ["Admin", session, "x", ROLE])
    assert [problem.path for problem in problems] == [("a", 0), ("a", 1), ("a", 2)]


def test_accepts_a_principal_that_is_a_token() -> None:
    assert not texts(problems_of(PrincipalArns, [cdk.Token.as_string({"Ref": "Admin"}), ROLE]))
