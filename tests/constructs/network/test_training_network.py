from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from tests.constructs.keyword import problems_of
from tests.constructs.site import properties
from training_cluster import TrainingNetwork
from training_cluster.network.training_network import Zones
from training_workloads import InputError


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Stack")


def test_two_zones_one_nat_gateway_and_s3_inside_aws(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network")
    template = assertions.Template.from_stack(stack)
    template.resource_count_is("AWS::EC2::Subnet", 4)
    template.resource_count_is("AWS::EC2::NatGateway", 1)
    (endpoint,) = properties(template, "AWS::EC2::VPCEndpoint")
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert endpoint["ServiceName"]["Fn::Join"][1][-1] == ".s3"
    assert network.endpoints is None


def test_every_connection_is_in_a_log_for_three_months(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network")
    template = assertions.Template.from_stack(stack)
    (flow_log,) = properties(template, "AWS::EC2::FlowLog")
    assert (flow_log["ResourceType"], flow_log["TrafficType"]) == ("VPC", "ALL")
    # The other is that of CDK's function.
    assert flow_log["LogGroupName"]["Ref"] in template.find_resources("AWS::Logs::LogGroup")
    for group in properties(template, "AWS::Logs::LogGroup"):
        assert group["RetentionInDays"] == 90
        assert "KmsKeyId" not in group


def test_a_key_encrypts_the_log(stack: cdk.Stack) -> None:
    key = kms.Key(stack, "Key")
    TrainingNetwork(stack, "Network", encryption_key=key)
    groups = properties(assertions.Template.from_stack(stack), "AWS::Logs::LogGroup")
    assert [group["KmsKeyId"] for group in groups] == [stack.resolve(key.key_arn)] * 2


def test_the_default_security_group_allows_nothing(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network")
    assertions.Template.from_stack(stack).resource_count_is("Custom::VpcRestrictDefaultSG", 1)


def test_a_stack_can_have_two_networks(stack: cdk.Stack) -> None:
    for name in ("First", "Second"):
        TrainingNetwork(stack, name)
    assertions.Template.from_stack(stack).resource_count_is("AWS::EC2::VPC", 2)


def test_the_training_subnet_is_private_and_in_the_first_zone(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", availability_zones=["us-east-1c", "us-east-1a"])
    assert network.training_subnet.availability_zone == "us-east-1c"
    assert network.training_subnet.node.path == "Stack/Network/PrivateSubnet1"


@pytest.mark.parametrize("nat", [True, False])
def test_the_training_subnet_follows_the_training_zone(nat: bool, stack: cdk.Stack) -> None:
    zones = ["us-east-1c", "us-east-1a"]
    network = TrainingNetwork(stack, "Network", availability_zones=zones, training_zone="us-east-1a", nat=nat)
    assert network.training_subnet.availability_zone == "us-east-1a"
    assert network.training_subnet.node.path == "Stack/Network/PrivateSubnet2"


@pytest.mark.parametrize(
    ("zones", "message"),
    [
        (
            ["us-east-1a", "us-east-1b"],
            "'training_zone' is 'us-east-1d'; give one of availability_zones: us-east-1a, us-east-1b",
        ),
        (
            [],
            "'training_zone' is 'us-east-1d'; name the zones of the VPC in availability_zones too, with this one among "
            "them",
        ),
    ],
)
def test_rejects_a_training_zone_without_a_subnet(zones: list[str], message: str, stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", availability_zones=zones, training_zone="us-east-1d")
    assert str(caught.value) == message


def test_private_subnets_share_what_the_public_ones_do_not_use(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network", cidr="10.1.0.0/16")
    ranges = [subnet["CidrBlock"] for subnet in properties(assertions.Template.from_stack(stack), "AWS::EC2::Subnet")]
    assert sorted(ranges) == ["10.1.0.0/26", "10.1.0.64/26", "10.1.128.0/18", "10.1.64.0/18"]


@pytest.mark.parametrize(
    ("cidr", "message"),
    [
        ("10.0.0.0/8", "'cidr' is '10.0.0.0/8'; give a range from /16 to /20"),
        ("10.0.0.0/24", "'cidr' is '10.0.0.0/24'; give a range from /16 to /20"),
        ("10.0.0.0", "'cidr' is '10.0.0.0'; give a range from /16 to /20, such as 10.0.0.0/16"),
        ("10.0.0.0/0", "'cidr' is '10.0.0.0/0'; give a range from /16 to /20, such as 10.0.0.0/16"),
        (10, "'cidr' is 10; give text in quotes, such as \"10.0.0.0/16\""),
        ("10.0.0.5/16", "'cidr' is '10.0.0.5/16'; did you mean 10.0.0.0/16?"),
        ("10.0.0.0/255.255.0.0", "'cidr' is '10.0.0.0/255.255.0.0'; did you mean 10.0.0.0/16?"),
        ("127.0.0.0/16", "'cidr' is '127.0.0.0/16', but no VPC can have it; give a private range such as 10.0.0.0/16"),
        ("0.0.0.0/16", "'cidr' is '0.0.0.0/16', but no VPC can have it; give a private range such as 10.0.0.0/16"),
        ("240.0.0.0/16", "'cidr' is '240.0.0.0/16', but no VPC can have it; give a private range such as 10.0.0.0/16"),
        (
            "255.255.0.0/16",
            "'cidr' is '255.255.0.0/16', but no VPC can have it; give a private range such as 10.0.0.0/16",
        ),
        ("ten", "'cidr' is 'ten', but that is not an IPv4 range; write one such as 10.0.0.0/16"),
    ],
)
def test_rejects_a_range_that_no_vpc_can_have(cidr: Any, message: str, stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", cidr=cidr)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("zones", "message"),
    [
        (["us-east-1a"], "' is ['us-east-1a']; give two or more, the one with the GPU capacity first"),
        ("us-east-1a", "' is 'us-east-1a'; give a list"),
        (["us-east-1a", "use1-az2"], "[1]' is 'use1-az2'; give the name of a zone, such as us-east-1a"),
        (["us-east-1a", "us-east-1a"], "' is ['us-east-1a', 'us-east-1a']; give each zone once"),
        (
            ["us-east-1a", "eu-west-1a"],
            "' is ['us-east-1a', 'eu-west-1a'], but they are of us-east-1 and eu-west-1; give zones of one region",
        ),
        (2, "' is 2; give a list"),
        (["us-east-1a", 2], "[1]' is 2; give text in quotes"),
    ],
)
def test_rejects_invalid_zones(zones: Any, message: str, stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", availability_zones=zones)
    assert str(caught.value) == f"'availability_zones{message}"


def test_accepts_zones_of_every_partition(stack: cdk.Stack) -> None:
    for region in ("eusc-de-east-1", "us-gov-west-1", "cn-north-1", "us-isob-east-1"):
        assert not problems_of(Zones, [f"{region}a", f"{region}b"])


@pytest.mark.parametrize("zone", ["us-west-2-lax-1a", "us-east-1-wl1-bos-wlz-1"])
def test_rejects_a_zone_in_which_eks_has_no_control_plane(zone: str) -> None:
    (problem,) = problems_of(Zones, ["us-west-2a", zone], "availability_zones")
    assert str(problem) == (
        f"'availability_zones[1]' is '{zone}', but EKS takes no subnet of a local zone or of Wavelength for its "
        "control plane; give availability zones, such as us-east-1a"
    )


def test_rejects_a_zone_of_no_region() -> None:
    (problem,) = problems_of(Zones, ["us-esat-1a", "us-east-1b"], "availability_zones")
    assert str(problem) == (
        "'availability_zones[0]' is 'us-esat-1a', but AWS has no region us-esat-1; did you mean us-west-1 or us-east-1 "
        "or us-west-2?"
    )


def test_rejects_zones_of_another_region_than_the_stacks() -> None:
    stack = cdk.Stack(cdk.App(), "Stack", env=cdk.Environment(region="eu-west-1"))
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
    assert str(caught.value) == (
        "'availability_zones' is ['us-east-1a', 'us-east-1b'], but the stack's region is eu-west-1; give "
        "zones of eu-west-1, or create the stack with env=cdk.Environment(region='us-east-1')"
    )
    TrainingNetwork(stack, "Local", availability_zones=["eu-west-1a", "eu-west-1b"])


def test_no_zones_are_those_of_the_region(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network", availability_zones=None)


def test_accepts_zones_that_are_tokens(stack: cdk.Stack) -> None:
    zones = [cdk.Token.as_string({"Ref": "Zone"}), "us-east-1b"]
    assert len(TrainingNetwork(stack, "Network", availability_zones=zones).private_subnets) == 2


def test_rejects_a_string_for_a_flag(stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", nat="no")  # type: ignore[arg-type]
    assert str(caught.value) == "'nat' is 'no'; give true or false"


def test_rejects_a_range_that_is_a_token(stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", cidr=cdk.CfnParameter(stack, "Cidr").value_as_string)
    assert str(caught.value) == (
        "'cidr' is a value that only the deployment knows, but the ranges of the subnets are calculated from it; give "
        "a literal range such as 10.0.0.0/16"
    )


def test_it_is_a_vpc_with_one_node_subnet_in_each_zone(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", nat=False)
    group = ec2.SecurityGroup(stack, "Group", vpc=network)
    assert [each.node.path for each in network.node_subnets] == [each.node.path for each in network.isolated_subnets]
    assert stack.resolve(group.connections.security_groups[0].security_group_id)
    (made,) = [
        each
        for each in properties(assertions.Template.from_stack(stack), "AWS::EC2::SecurityGroup")
        if each["GroupDescription"] == "Stack/Group"
    ]
    assert made["VpcId"] == stack.resolve(network.vpc_id)
