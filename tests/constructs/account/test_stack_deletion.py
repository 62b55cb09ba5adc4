from typing import Any

import pytest

from tests.constructs.account.conftest import Clock
from tests.constructs.account.stubbed_account import ARN, StubbedAccount
from tests.constructs.account.vpc_answers import VPC, answer_vpc, interface
from training_cluster.account.deployed_stack import DeployedStack, find_stack
from training_cluster.account.stack_deletion import DeletionError, delete_stack, destroy_stack

NODES = {"Nodes": ("AWS::EKS::Nodegroup", "training/system")}
OF_NODE = interface("eni-1", "", tags={"training-cluster/cluster": "training"})
LAMBDA = "AWS Lambda VPC ENI-TrainingClusterStack-Handler-0a1b2c3d-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"


@pytest.fixture
def account() -> StubbedAccount:
    return StubbedAccount()


def deployed(account: StubbedAccount, resources: Any = NODES, status: str = "CREATE_COMPLETE") -> DeployedStack:
    account.answer_stack(resources, status=status)
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    return stack


def event(number: int, state: str, logical: str, why: str = "", physical: str = "id") -> dict[str, Any]:
    return {
        "StackId": ARN,
        "EventId": str(number),
        "StackName": "TrainingClusterStack",
        "Timestamp": number,
        "ResourceStatus": state,
        "ResourceType": "AWS::EKS::Nodegroup",
        "LogicalResourceId": logical,
        "PhysicalResourceId": physical,
        **({"ResourceStatusReason": why} if why else {}),
    }


def answer_events(account: StubbedAccount, *newest_first: dict[str, Any]) -> None:
    account.answer("cloudformation", "describe_stack_events", {"StackEvents": list(newest_first)}, {"StackName": ARN})


def answer_state(account: StubbedAccount, state: str) -> None:
    stack = {"StackName": "TrainingClusterStack", "CreationTime": 0, "StackStatus": state}
    account.answer("cloudformation", "describe_stacks", {"Stacks": [stack]}, {"StackName": ARN})


CREATED = event(1, "CREATE_COMPLETE", "Nodes")
BEGUN = event(2, "DELETE_IN_PROGRESS", "Nodes")


def test_each_event_of_the_deletion_is_shown_once(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {}, {"StackName": ARN})
    answer_events(account, BEGUN, CREATED)
    answer_state(account, "DELETE_IN_PROGRESS")
    answer_events(account, event(4, "DELETE_COMPLETE", "Vpc"), event(3, "DELETE_COMPLETE", "Nodes"), BEGUN, CREATED)
    answer_state(account, "DELETE_COMPLETE")
    lines: list[str] = []
    delete_stack(account, stack, lines.append)
    assert lines == [
        "DELETE_IN_PROGRESS AWS::EKS::Nodegroup Nodes",
        "DELETE_COMPLETE AWS::EKS::Nodegroup Nodes",
        "DELETE_COMPLETE AWS::EKS::Nodegroup Vpc",
    ]
    assert clock.pauses == [5]
    account.all_asked()


def test_a_resource_that_cannot_be_deleted_is_named(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {})
    whole = event(4, "DELETE_FAILED", "TrainingClusterStack", "Nodes", ARN)
    answer_events(account, whole, event(3, "DELETE_FAILED", "Nodes", "in\nuse"), CREATED)
    answer_state(account, "DELETE_FAILED")
    with pytest.raises(DeletionError, match=r"^DELETE_FAILED AWS::EKS::Nodegroup Nodes: in use$"):
        delete_stack(account, stack, lambda line: None)


def test_a_deletion_that_has_begun_is_followed(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account, status="DELETE_IN_PROGRESS")
    answer_events(account, CREATED)
    answer_events(account, BEGUN, CREATED)
    answer_state(account, "DELETE_COMPLETE")
    lines: list[str] = []
    delete_stack(account, stack, lines.append)
    assert lines == ["DELETE_IN_PROGRESS AWS::EKS::Nodegroup Nodes"]
    account.all_asked()


def answer_failure(account: StubbedAccount, why: str = "has dependencies and cannot be deleted") -> None:
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {})
    answer_events(account, event(3, "DELETE_FAILED", "Vpc", why), CREATED)
    answer_state(account, "DELETE_FAILED")


def answer_success(account: StubbedAccount) -> None:
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {})
    answer_events(account, BEGUN, CREATED)
    answer_state(account, "DELETE_COMPLETE")


AFTER = {
    "Vpc": ("AWS::EC2::VPC", VPC),
    "Cluster": ("AWS::EKS::Cluster", "training", "DELETE_COMPLETE"),
    "Handler": ("AWS::Lambda::Function", "TrainingClusterStack-Handler-0a1b2c3d", "DELETE_COMPLETE"),
}


def test_what_the_cluster_left_is_removed_and_the_deletion_repeated(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    answer_failure(account)
    account.answer_stack(AFTER, status="DELETE_FAILED")
    left = {
        "groups": [{"GroupId": "sg-1", "GroupName": "eks-cluster-sg", "Tags": {"aws:eks:cluster-name": "training"}}],
        "interfaces": [
            interface("eni-1", "aws-K8S-i-0", tags={"kubernetes.io/cluster/training": "owned"}),
            interface("eni-2", LAMBDA, status="in-use"),
        ],
    }
    # Once to decide, once before the second deletion, and once after the wait for Lambda.
    answer_vpc(account, cluster=None, **left)
    answer_vpc(account, cluster=None, **left)
    account.answer("ec2", "delete_network_interface", {}, {"NetworkInterfaceId": "eni-1"})
    account.forbid("ec2", "delete_security_group", "resource sg-1 has a dependent object", "DependencyViolation")
    answer_vpc(account, cluster=None, groups=left["groups"])
    account.answer("ec2", "delete_security_group", {}, {"GroupId": "sg-1"})
    answer_success(account)
    lines: list[str] = []
    destroy_stack(account, stack, lines.append)
    assert clock.pauses == [60]
    assert lines[2:4] == [
        "removed eni-1 (aws-K8S-i-0)",
        "sg-1 (security group eks-cluster-sg): it is removed, because its cluster is deleted; not yet: AWS rejects "
        "DeleteSecurityGroup (DependencyViolation): resource sg-1 has a dependent object",
    ]
    assert lines[4].startswith("waiting for 1 interfaces, such as eni-2 (AWS Lambda VPC ENI-")
    assert lines[5] == "removed sg-1 (security group eks-cluster-sg)"
    account.all_asked()


def test_a_deletion_that_failed_before_is_resumed(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account, AFTER, "DELETE_FAILED")
    answer_vpc(account, cluster=None, interfaces=[OF_NODE])
    account.answer("ec2", "delete_network_interface", {}, {"NetworkInterfaceId": "eni-1"})
    # The next look finds nothing that AWS must release.
    answer_success(account)
    destroy_stack(account, stack, lambda line: None)
    account.all_asked()


def test_what_others_made_is_named_and_stays(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    answer_failure(account)
    account.answer_stack(AFTER, status="DELETE_FAILED")
    endpoint = {"VpcEndpointId": "vpce-1", "ServiceName": "com.amazonaws.us-west-2.guardduty-data"}
    answer_vpc(account, cluster=None, endpoints=[endpoint])
    with pytest.raises(DeletionError, match=r"cannot be deleted; vpce-1 \(endpoint of .*\): remove it with 'aws"):
        destroy_stack(account, stack, lambda line: None)
    account.all_asked()


def test_a_failure_for_another_reason_is_not_repeated(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    answer_failure(account, "the custom resource timed out")
    account.answer_stack({"Vpc": ("AWS::EC2::VPC", VPC)}, status="DELETE_FAILED")
    answer_vpc(account)
    with pytest.raises(DeletionError, match=r": the custom resource timed out$"):
        destroy_stack(account, stack, lambda line: None)
    account.all_asked()


def test_the_deletion_is_repeated_twice_at_most(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    for attempt in range(3):
        if attempt:
            answer_vpc(account, cluster=None, interfaces=[OF_NODE])
            account.forbid("ec2", "delete_network_interface", "in use", "InvalidParameterValue")
        answer_failure(account)
        account.answer_stack(AFTER, status="DELETE_FAILED")
        answer_vpc(account, cluster=None, interfaces=[OF_NODE])
    with pytest.raises(DeletionError, match="has dependencies"):
        destroy_stack(account, stack, lambda line: None)
    account.all_asked()


def test_the_wait_for_lambda_has_an_end(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account, AFTER, "DELETE_FAILED")
    for _ in range(60):
        answer_vpc(account, cluster=None, interfaces=[interface("eni-2", LAMBDA, status="in-use")])
    with pytest.raises(DeletionError, match="1 interfaces are there after 60 minutes: eni-2"):
        destroy_stack(account, stack, lambda line: None)
    assert sum(clock.pauses) == 3600
    account.all_asked()


def test_the_vpc_is_cleared_while_the_deletion_runs(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account, {"Vpc": ("AWS::EC2::VPC", VPC), "Cluster": ("AWS::EKS::Cluster", "training")})
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {})
    for _ in range(12):
        answer_events(account, CREATED)
        answer_state(account, "DELETE_IN_PROGRESS")
    answer_vpc(account, cluster=None, interfaces=[OF_NODE])
    account.answer("ec2", "delete_network_interface", {}, {"NetworkInterfaceId": "eni-1"})
    answer_events(account, CREATED)
    answer_state(account, "DELETE_COMPLETE")
    lines: list[str] = []
    delete_stack(account, stack, lines.append)
    assert lines == ["removed eni-1 (interface of a node)"]
    account.all_asked()


def test_a_vpc_that_cannot_be_read_is_one_line(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account, AFTER, "DELETE_FAILED")
    account.forbid("eks", "describe_cluster")
    answer_success(account)
    lines: list[str] = []
    destroy_stack(account, stack, lines.append)
    assert lines[0].startswith("what else is in the VPC cannot be read: your role may not eks:DescribeCluster")
    account.all_asked()
