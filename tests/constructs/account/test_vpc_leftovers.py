from typing import Any

import pytest

from tests.constructs.account.lustre_answers import FILE_SYSTEM
from tests.constructs.account.stubbed_account import StubbedAccount
from tests.constructs.account.vpc_answers import VPC, answer_vpc, interface
from training_cluster.account.deployed_stack import find_stack
from training_cluster.account.vpc_leftovers import Leftover, find_leftovers

HANDLER = "TrainingClusterStack-Handler-0a1b2c3d"
UUID = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
OF_CLUSTER = {"kubernetes.io/cluster/training": "owned"}
RESOURCES = {
    "Vpc": ("AWS::EC2::VPC", VPC),
    "Cluster": ("AWS::EKS::Cluster", "training"),
    "Nat": ("AWS::EC2::NatGateway", "nat-0123456789abcdef0"),
    "Endpoint": ("AWS::EC2::VPCEndpoint", "vpce-0123456789abcdef0"),
    "Group": ("AWS::EC2::SecurityGroup", "sg-0123456789abcdef0"),
    "Handler": ("AWS::Lambda::Function", HANDLER),
    "Efs": ("AWS::EFS::MountTarget", "fsmt-0123456789abcdef0"),
}


@pytest.fixture
def account() -> StubbedAccount:
    return StubbedAccount()


def leftovers(account: StubbedAccount, resources: Any = RESOURCES, **in_vpc: Any) -> list[Leftover]:
    account.answer_stack(resources)
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    answer_vpc(account, **{"cluster": "training", **in_vpc})
    found = find_leftovers(account, stack)
    account.all_asked()
    return found


def test_what_is_the_stacks_is_not_listed(account: StubbedAccount) -> None:
    interfaces = [
        interface("eni-1", "Interface for NAT Gateway nat-0123456789abcdef0", "in-use"),
        interface("eni-2", "VPC Endpoint Interface vpce-0123456789abcdef0", "in-use"),
        interface("eni-3", "Amazon EKS training", "in-use"),
        interface("eni-4", "EFS mount target for fs-1 (fsmt-0123456789abcdef0)", "in-use"),
        interface("eni-5", "aws-K8S-i-1", "in-use", OF_CLUSTER, "i-1"),
    ]
    endpoints = [{"VpcEndpointId": "vpce-0123456789abcdef0", "ServiceName": "s3"}]
    groups = [
        {"GroupId": "sg-0123456789abcdef0", "GroupName": "nodes"},
        {"GroupId": "sg-1", "GroupName": "default"},
    ]
    assert leftovers(account, interfaces=interfaces, endpoints=endpoints, groups=groups) == []


OF_LUSTRE = "eni-0123456789abcdef0"


def test_the_interfaces_of_lustre_are_the_stacks(account: StubbedAccount) -> None:
    found = {"FileSystems": [{"FileSystemId": FILE_SYSTEM, "NetworkInterfaceIds": [OF_LUSTRE]}]}
    account.answer("fsx", "describe_file_systems", found, {"FileSystemIds": [FILE_SYSTEM]})
    resources = {"Vpc": RESOURCES["Vpc"], "Lustre": ("AWS::FSx::FileSystem", FILE_SYSTEM)}
    (left,) = leftovers(
        account,
        resources,
        cluster="",
        interfaces=[interface(OF_LUSTRE, "FSx", "in-use"), interface("eni-2", "FSx", "in-use")],
    )
    assert left.id == "eni-2"


def test_a_file_system_that_is_deleted_hides_nothing(account: StubbedAccount) -> None:
    account.forbid("fsx", "describe_file_systems", code="FileSystemNotFound")
    resources = {"Vpc": RESOURCES["Vpc"], "Lustre": ("AWS::FSx::FileSystem", FILE_SYSTEM)}
    (left,) = leftovers(account, resources, cluster="", interfaces=[interface("eni-2", "")])
    assert left.id == "eni-2"


def test_guarddutys_endpoint_and_group_are_named_with_their_commands(account: StubbedAccount) -> None:
    endpoint = {
        "VpcEndpointId": "vpce-9",
        "ServiceName": "com.amazonaws.us-west-2.guardduty-data",
        "State": "available",
        "Tags": {"GuardDutyManaged": "true"},
    }
    group = {"GroupId": "sg-9", "GroupName": f"GuardDutyManagedSecurityGroup-{VPC}", "Tags": {}}
    found = leftovers(account, endpoints=[endpoint], groups=[group])
    again = " when the cluster is deleted: until then GuardDuty's Runtime Monitoring makes it again"
    assert [(each.fate, each.line) for each in found] == [
        (
            "named",
            "vpce-9 (endpoint of com.amazonaws.us-west-2.guardduty-data): remove it with 'aws ec2 "
            f"delete-vpc-endpoints --vpc-endpoint-ids vpce-9 --region us-west-2'{again}",
        ),
        (
            "named",
            f"sg-9 (security group GuardDutyManagedSecurityGroup-{VPC}): remove it with 'aws ec2 delete-security-group "
            f"--group-id sg-9 --region us-west-2'{again}",
        ),
    ]


@pytest.mark.parametrize("state", ["deleting", "deleted"])
def test_an_endpoint_that_goes_is_not_listed(state: str, account: StubbedAccount) -> None:
    assert leftovers(account, endpoints=[{"VpcEndpointId": "vpce-9", "ServiceName": "s3", "State": state}]) == []


@pytest.mark.parametrize(
    ("tags", "fate"),
    [
        ({"aws:eks:cluster-name": "training"}, "removed"),
        ({"kubernetes.io/cluster/training": "owned"}, "removed"),
        ({"elbv2.k8s.aws/cluster": "training"}, "removed"),
        ({"training-cluster/cluster": "training"}, "removed"),
        ({"kubernetes.io/cluster/training": "shared"}, "named"),
        ({"kubernetes.io/cluster/training-2": "owned"}, "named"),
        ({"aws:eks:cluster-name": "other"}, "named"),
        ({"Name": "training"}, "named"),
        ({}, "named"),
    ],
    ids=str,
)
def test_only_what_has_the_clusters_tags_is_removed(tags: dict[str, str], fate: str, account: StubbedAccount) -> None:
    found = leftovers(
        account,
        cluster=None,
        interfaces=[interface("eni-1", "aws-K8S-i-1", tags=tags)],
        groups=[{"GroupId": "sg-1", "GroupName": "eks-cluster-sg-training", "Tags": tags}],
    )
    assert [each.fate for each in found] == [fate, fate]


def test_nothing_is_removed_while_the_cluster_exists(account: StubbedAccount) -> None:
    found = leftovers(
        account,
        interfaces=[interface("eni-1", "aws-K8S-i-1", tags=OF_CLUSTER)],
        groups=[{"GroupId": "sg-1", "GroupName": "eks-cluster-sg-training", "Tags": OF_CLUSTER}],
    )
    assert [each.fate for each in found] == ["later", "later"]


def test_an_interface_that_is_in_use_is_not_removed(account: StubbedAccount) -> None:
    assert leftovers(account, cluster=None, interfaces=[interface("eni-1", "", "in-use", OF_CLUSTER, "i-1")]) == []


@pytest.mark.parametrize(
    ("function", "status", "fate"),
    [
        (HANDLER, (), "later"),
        (HANDLER, ("DELETE_COMPLETE",), "awaited"),
        (f"{HANDLER}-of-someone", ("DELETE_COMPLETE",), "named"),
        ("TrainingClusterStack-Handler", ("DELETE_COMPLETE",), "named"),
    ],
)
def test_lambda_releases_the_interfaces_of_the_stacks_functions(
    function: str, status: tuple[str, ...], fate: str, account: StubbedAccount
) -> None:
    resources = {**RESOURCES, "Handler": ("AWS::Lambda::Function", HANDLER, *status)}
    (left,) = leftovers(
        account, resources, interfaces=[interface("eni-1", f"AWS Lambda VPC ENI-{function}-{UUID}", "in-use")]
    )
    assert left.fate == fate


@pytest.mark.parametrize(
    ("description", "id", "command"),
    [
        ("ELB a0b1c2d3", "a0b1c2d3", "aws elb delete-load-balancer --load-balancer-name a0b1c2d3 --region us-west-2"),
        (
            "ELB net/k8s-team-board/0a1b2c3d",
            "k8s-team-board",
            "aws elbv2 delete-load-balancer --load-balancer-arn $(aws elbv2 describe-load-balancers --names "
            "k8s-team-board --query LoadBalancers[0].LoadBalancerArn --output text --region us-west-2) "
            "--region us-west-2",
        ),
    ],
)
def test_a_load_balancer_is_named_once(description: str, id: str, command: str, account: StubbedAccount) -> None:
    (left,) = leftovers(account, interfaces=[interface(f"eni-{n}", description, "in-use") for n in (1, 2)])
    assert (left.id, left.fate) == (id, "named")
    assert left.remedy == f"remove it with '{command}'"


def test_an_instance_of_someone_else_is_named(account: StubbedAccount) -> None:
    (left,) = leftovers(account, interfaces=[interface("eni-1", "", "in-use", instance="i-9")])
    assert left.line == (
        "eni-1 (interface of i-9): remove it with 'aws ec2 terminate-instances --instance-ids i-9 --region us-west-2'"
    )


def test_another_stacks_resource_names_its_stack(account: StubbedAccount) -> None:
    tags = {"aws:cloudformation:stack-name": "Bastion"}
    (left,) = leftovers(account, groups=[{"GroupId": "sg-2", "GroupName": "bastion", "Tags": tags}])
    assert left.line == "sg-2 (security group bastion): it is of the stack Bastion: delete that stack first"


def test_a_description_that_only_begins_like_a_resource_of_the_stack_is_someone_elses(account: StubbedAccount) -> None:
    (left,) = leftovers(account, interfaces=[interface("eni-1", "Amazon EKS training-2", "in-use")])
    assert left.about == "interface, in-use: Amazon EKS training-2; delete what uses it first"


def test_a_vpc_of_another_stack_is_not_looked_at(account: StubbedAccount) -> None:
    account.answer_stack({"Cluster": RESOURCES["Cluster"]})
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    assert find_leftovers(account, stack) == []
