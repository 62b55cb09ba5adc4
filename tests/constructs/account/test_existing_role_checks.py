import json
from typing import Any

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.existing_role_checks import existing_roles_fit, permissions_boundary_exists
from training_cluster.account.preflight import Check

NODES, CLUSTER = "arn:aws:iam::111122223333:role/eks/Nodes", "arn:aws:iam::111122223333:role/Cluster"
BOUNDARY = "arn:aws:iam::111122223333:policy/Boundary"


def answer_role(account: StubbedAccount, arn: str, service: Any, *denied: str) -> None:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    name = arn.rpartition("/")[2]
    role = {
        "Arn": arn,
        "Path": "/",
        "RoleName": name,
        "RoleId": "A" * 16,
        "CreateDate": 0,
        "AssumeRolePolicyDocument": json.dumps({"Statement": [statement]}),
    }
    account.answer("iam", "get_role", {"Role": role}, {"RoleName": name})
    decisions = [{"EvalActionName": each, "EvalDecision": "implicitDeny"} for each in denied]
    allowed = {"EvalActionName": "ec2:DescribeInstances", "EvalDecision": "allowed"}
    account.answer("iam", "simulate_principal_policy", {"EvaluationResults": [allowed, *decisions]})


@pytest.mark.parametrize("check", [existing_roles_fit, permissions_boundary_exists])
def test_without_the_key_there_is_nothing_to_look_up(check: Check) -> None:
    assert list(check(deployment(StubbedAccount()))) == []


@pytest.mark.parametrize("service", ["ec2.amazonaws.com", ["ec2.amazonaws.com.cn", "ssm.amazonaws.com"]])
def test_a_role_of_nodes_that_fits_is_right(service: Any) -> None:
    account = StubbedAccount()
    answer_role(account, NODES, service)
    rows = list(existing_roles_fit(deployment(account, node_role=NODES)))
    assert [(each.check, each.state) for each in rows] == [("node_role", "ok"), ("permissions of node_role", "ok")]


def test_a_role_of_another_service_is_named() -> None:
    account = StubbedAccount()
    answer_role(account, CLUSTER, "ec2.amazonaws.com")
    row = next(existing_roles_fit(deployment(account, cluster_role=CLUSTER)))
    assert (row.state, row.actual) == ("failed", "eks.amazonaws.com may not assume it")
    assert row.remedy.endswith("whose trust policy allows eks.amazonaws.com sts:AssumeRole")


def test_actions_that_are_denied_are_named() -> None:
    account = StubbedAccount()
    answer_role(account, NODES, "ec2.amazonaws.com", "ecr:BatchGetImage")
    _, row = existing_roles_fit(deployment(account, node_role=NODES))
    assert (row.state, row.actual) == ("failed", "not ecr:BatchGetImage")


@pytest.mark.parametrize(("ssm", "needed"), [(True, True), (False, False)])
def test_shells_on_the_nodes_need_more(ssm: bool, needed: bool) -> None:
    account = StubbedAccount()
    answer_role(account, NODES, "ec2.amazonaws.com")
    _, row = existing_roles_fit(deployment(account, node_role=NODES, ssm=ssm))
    assert ("ssm:UpdateInstanceInformation" in row.needed) is needed


def test_a_role_that_does_not_exist_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("iam", "get_role", "NoSuchEntity")
    (row,) = existing_roles_fit(deployment(account, node_role=NODES))
    assert (row.state, row.actual) == ("failed", f"this account has no {NODES}")


def test_a_boundary_that_does_not_exist_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("iam", "get_policy", "NoSuchEntity")
    (row,) = permissions_boundary_exists(deployment(account, permissions_boundary=BOUNDARY))
    assert (row.state, row.actual) == ("failed", f"there is no {BOUNDARY}")


def test_a_boundary_is_looked_up() -> None:
    account = StubbedAccount()
    account.answer("iam", "get_policy", {"Policy": {"Arn": BOUNDARY}}, {"PolicyArn": BOUNDARY})
    (row,) = permissions_boundary_exists(deployment(account, permissions_boundary=BOUNDARY))
    assert (row.state, row.needed) == ("ok", BOUNDARY)
