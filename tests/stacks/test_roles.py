"""The permissions boundary is on every role, and named roles are used as they are."""

from pathlib import Path
from typing import Any

import pytest

from app import build
from tests.stacks.templates import ROOT, SCENARIOS
from training_cluster import ClusterConfig, load_config
from training_workloads import InputError

BOUNDARY = "arn:aws:iam::111122223333:policy/Boundary"
CLUSTER, NODES = "arn:aws:iam::111122223333:role/Cluster", "arn:aws:iam::111122223333:role/eks/Nodes"
EXAMPLES = [ROOT / "cluster.yaml", ROOT / "examples/two_teams.yaml", *SCENARIOS.values()]
#: Every part that has roles.
MORE = {
    "alarm_email": "team@example.com",
    "ebs": "true",
    "efs": "true",
    "metrics_server": "true",
    "gpu_details": "true",
    "monthly_budget_usd": "1000",
    "sagemaker": "{notebook: true, lustre: true, efs: true}",
}


def resources(config: ClusterConfig, *kinds: str) -> dict[str, dict[str, Any]]:
    """Return the resources of some types, of every stack."""
    stacks = build(config).synth().stacks
    found = {f"{stack.stack_name}/{id}": each for stack in stacks for id, each in stack.template["Resources"].items()}
    assert not [id for id, each in found.items() if each["Type"] == "AWS::CloudFormation::Stack"], "a nested template"
    return {id: each["Properties"] for id, each in found.items() if each["Type"] in kinds}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_role_of_every_stack_has_the_boundary(path: Path) -> None:
    config = load_config(path, {**MORE, "permissions_boundary": BOUNDARY})
    found = resources(config, "AWS::IAM::Role", "AWS::IAM::User")
    assert len(found) > 12
    assert [id for id, each in found.items() if each.get("PermissionsBoundary") != BOUNDARY] == []


def config(**values: Any) -> ClusterConfig:
    return ClusterConfig(node_groups={"gpu": {"instance_type": "p4d.24xlarge", "ssm": True}}, **values)  # type: ignore[dict-item]


def test_no_role_has_one_by_default() -> None:
    found = resources(config(), "AWS::IAM::Role")
    assert not any("PermissionsBoundary" in each for each in found.values())


def test_named_roles_are_used_and_not_changed() -> None:
    named = config(cluster_role=CLUSTER, node_role=NODES)
    groups = resources(named, "AWS::EKS::Nodegroup")
    assert len(groups) == 2
    assert {each["NodeRole"] for each in groups.values()} == {NODES}
    (cluster,) = resources(named, "AWS::EKS::Cluster").values()
    assert cluster["RoleArn"] == CLUSTER
    policies = resources(named, "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
    names = {NODES.rpartition("/")[2], CLUSTER.rpartition("/")[2]}
    assert not [id for id, each in policies.items() if names & {str(role) for role in each.get("Roles", ())}]
    assert not [id for id in resources(named, "AWS::IAM::Role") if "NodeGroupRole" in id]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"permissions_boundary": "Boundary"},
            "'permissions_boundary' is 'Boundary'; give the ARN of a managed policy, such as "
            "arn:aws:iam::111122223333:policy/Boundary (aws iam list-policies)",
        ),
        (
            {"node_role": "Nodes"},
            "'node_role' is 'Nodes'; give the ARN of an IAM role, such as arn:aws:iam::111122223333:role/Nodes "
            "(aws iam list-roles)",
        ),
        (
            {"cluster_role": "Cluster"},
            "'cluster_role' is 'Cluster'; give the ARN of an IAM role, such as arn:aws:iam::111122223333:role/Cluster "
            "(aws iam list-roles)",
        ),
        (
            {"cluster_role": "arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForEKS"},
            "'cluster_role' is 'arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/"
            "AWSServiceRoleForEKS', but that is the role of an AWS service, which EKS does not accept; give a role of "
            "your account",
        ),
    ],
)
def test_rejects_other_text_than_arns(values: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        config(**values)
    assert str(caught.value) == message
