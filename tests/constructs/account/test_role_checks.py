from typing import Any

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.check_result import CheckResult
from training_cluster.account.role_checks import spot_has_its_role

SPOT: dict[str, Any] = {"capacity_type": "SPOT"}
ROLE = {"RoleName": "AWSServiceRoleForEC2Spot"}


def test_without_spot_the_role_is_not_looked_up() -> None:
    assert list(spot_has_its_role(deployment(StubbedAccount()))) == []


def test_an_account_without_the_role_gets_the_command() -> None:
    account = StubbedAccount()
    account.forbid("iam", "get_role", code="NoSuchEntity")
    assert list(spot_has_its_role(deployment(account, **SPOT))) == [
        CheckResult(
            check="role of EC2 Spot",
            state="failed",
            actual="the account has no AWSServiceRoleForEC2Spot",
            needed="AWSServiceRoleForEC2Spot, for gpu",
            remedy="aws iam create-service-linked-role --aws-service-name spot.amazonaws.com (once for the account)",
        )
    ]


def test_the_role_is_enough() -> None:
    account = StubbedAccount()
    arn = "arn:aws:iam::111122223333:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
    role = {"Path": "/", **ROLE, "RoleId": "AROAEXAMPLEEXAMPLE00", "Arn": arn, "CreateDate": 0}
    account.answer("iam", "get_role", {"Role": role}, ROLE)
    assert [each.state for each in spot_has_its_role(deployment(account, **SPOT))] == ["ok"]
