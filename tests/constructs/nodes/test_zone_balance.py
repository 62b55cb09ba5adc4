import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from tests.constructs.changes.test_findings import findings
from tests.stacks.templates import SCENARIOS, templates
from training_cluster import TrainingCluster


@pytest.fixture(scope="module")
def template() -> assertions.Template:
    stack = cdk.Stack(cdk.App(), "Stack")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    for name in ("Cluster", "Other"):
        TrainingCluster(stack, name, vpc=vpc, encryption_key=kms.Key(stack, f"{name}Key"))
    return assertions.Template.from_stack(stack)


def calls(template: assertions.Template) -> dict[str, dict[str, Any]]:
    """Return the calls of AWS by their ids, with each value that only the deployment knows as text."""
    found = template.find_resources("Custom::AWS")
    return {id: json.loads(_text(each["Properties"]["Create"])) for id, each in found.items()}


def _text(joined: Any) -> str:
    if isinstance(joined, str):
        return joined
    parts = joined["Fn::Join"][1]
    return "".join(each if isinstance(each, str) else json.dumps(each).replace('"', "'") for each in parts)


def test_each_cluster_suspends_the_balance_of_its_system_nodes(template: assertions.Template) -> None:
    groups = template.find_resources("AWS::EKS::Nodegroup")
    found = calls(template)
    describing = {id: each for id, each in found.items() if each["action"] == "DescribeNodegroup"}
    named = [each["parameters"]["nodegroupName"] for each in describing.values()]
    assert sorted(named) == sorted(f"{{'Fn::GetAtt': ['{id}', 'NodegroupName']}}" for id in groups)
    suspending = [each["parameters"] for each in found.values() if each["action"] == "SuspendProcesses"]
    assert sorted(each["AutoScalingGroupName"] for each in suspending) == sorted(
        f"{{'Fn::GetAtt': ['{id}', 'nodegroup.resources.autoScalingGroups.0.name']}}" for id in describing
    )
    assert [each["ScalingProcesses"] for each in suspending] == [["AZRebalance"]] * 2


def test_a_call_is_made_again_when_the_node_group_is_another_one(template: assertions.Template) -> None:
    for each in template.find_resources("Custom::AWS").values():
        assert each["Properties"]["Create"] == each["Properties"]["Update"]
        assert "Delete" not in each["Properties"]


def test_the_function_changes_groups_of_its_clusters_only(template: assertions.Template) -> None:
    policies = template.find_resources("AWS::IAM::Policy").values()
    statements = [each for policy in policies for each in policy["Properties"]["PolicyDocument"]["Statement"]]
    suspending = [each for each in statements if each["Action"] == "autoscaling:SuspendProcesses"]
    clusters = template.find_resources("AWS::EKS::Cluster")
    tags = [each["Condition"]["StringEquals"]["aws:ResourceTag/eks:cluster-name"]["Ref"] for each in suspending]
    assert sorted(tags) == sorted(clusters)


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_no_group_with_launchers_or_ranks_is_balanced_between_zones(scenario: str) -> None:
    template = templates(scenario)["TrainingClusterStack"]
    suspended = " ".join(each["parameters"].get("nodegroupName", "") for each in calls(template).values())
    for id, group in template.find_resources("AWS::EKS::Nodegroup").items():
        assert len(group["Properties"]["Subnets"]) == 1 or f"'{id}'" in suspended, id


def test_the_plan_of_a_deployed_cluster_finds_nothing_against_it() -> None:
    new = templates("p4d-reservation")["TrainingClusterStack"].to_json()["Resources"]
    deployed = {id: each for id, each in new.items() if "UnbalancedZones" not in id and not id.startswith("AWS679f53")}
    assert len(new) - len(deployed) == 7
    assert findings(deployed, new) == []
