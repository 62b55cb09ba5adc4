import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from training_cluster import TrainingCluster, TrainingNetwork
from training_cluster.identity.encryption_key import TrainingKey, policy_of_an_own_key
from training_workloads import InputError

USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


@pytest.fixture(scope="module")
def key() -> dict[str, Any]:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingKey(stack, "Key")
    (made,) = assertions.Template.from_stack(stack).find_resources("AWS::KMS::Key").values()
    return dict(made)


def statement(key: dict[str, Any], sid: str) -> dict[str, Any]:
    statements = key["Properties"]["KeyPolicy"]["Statement"]
    (found,) = [each for each in statements if each.get("Sid") == sid]
    return dict(found)


def text(value: Any) -> str:
    """A joined string, with the names of pseudo parameters."""
    return "".join(part if isinstance(part, str) else part["Ref"] for part in value["Fn::Join"][1])


def test_it_rotates_and_is_retained(key: dict[str, Any]) -> None:
    assert key["Properties"]["EnableKeyRotation"] is True
    assert (key["DeletionPolicy"], key["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_policies_of_the_account_control_it(key: dict[str, Any]) -> None:
    first = key["Properties"]["KeyPolicy"]["Statement"][0]
    assert first["Action"] == "kms:*"
    assert first["Principal"]["AWS"]["Fn::Join"][1][-1] == ":root"


def test_admits_ec2_before_auto_scaling_has_a_role(key: dict[str, Any]) -> None:
    volumes = statement(key, "VolumesOfNodes")
    assert volumes["Principal"] == {"AWS": "*"}
    assert volumes["Action"] == [*USE, "kms:CreateGrant"]
    conditions = volumes["Condition"]["StringEquals"]
    assert conditions["kms:CallerAccount"] == {"Ref": "AWS::AccountId"}
    assert text(conditions["kms:ViaService"]) == "ec2.AWS::Region.AWS::URLSuffix"


def test_admits_lustre_through_s3(key: dict[str, Any]) -> None:
    lustre = statement(key, "LustreInTheBucket")
    assert lustre["Action"] == USE
    assert lustre["Condition"]["StringLike"] == {"aws:userid": "*:FSx"}
    assert text(lustre["Condition"]["StringEquals"]["kms:ViaService"]) == "s3.AWS::Region.AWS::URLSuffix"
    assert lustre["Condition"]["StringEquals"]["kms:CallerAccount"] == {"Ref": "AWS::AccountId"}


def test_admits_cloudwatch_for_log_groups_of_this_account(key: dict[str, Any]) -> None:
    logs = statement(key, "LogGroups")
    assert text(logs["Principal"]["Service"]) == "logs.AWS::Region.AWS::URLSuffix"
    assert text(logs["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]) == (
        "arn:AWS::Partition:logs:AWS::Region:AWS::AccountId:log-group:*"
    )


def test_each_wildcard_principal_has_a_condition(key: dict[str, Any]) -> None:
    for each in key["Properties"]["KeyPolicy"]["Statement"]:
        assert "Condition" in each or each["Principal"] != {"AWS": "*"}


ALIAS: Any = "alias/training"


@pytest.mark.parametrize(
    "define",
    [
        lambda stack: TrainingNetwork(stack, "Network", encryption_key=ALIAS),
        lambda stack: TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc"), encryption_key=ALIAS),
    ],
)
def test_constructs_reject_what_is_not_a_key(define: Callable[[cdk.Stack], Any]) -> None:
    with pytest.raises(InputError, match="'encryption_key' is 'alias/training'; give a key"):
        define(cdk.Stack(cdk.App(), "Stack"))


def test_the_page_prints_the_policy_of_an_own_key(root: Path) -> None:
    page = (root / "docs/constructs/data.md").read_text()
    printed = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)[0]
    wanted = policy_of_an_own_key(
        partition="aws", suffix="amazonaws.com", region="us-east-1", account="111122223333", alarms=True
    )
    assert json.loads(printed) == wanted
