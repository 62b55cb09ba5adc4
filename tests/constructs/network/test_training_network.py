from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_kms as kms

from tests.constructs.site import properties
from training_cluster import TrainingNetwork
from training_cluster.network.training_network import check_vpc_cidr
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
    (group,) = properties(template, "AWS::Logs::LogGroup")
    assert group == {"RetentionInDays": 90}


def test_a_key_encrypts_the_log(stack: cdk.Stack) -> None:
    key = kms.Key(stack, "Key")
    TrainingNetwork(stack, "Network", encryption_key=key)
    (group,) = properties(assertions.Template.from_stack(stack), "AWS::Logs::LogGroup")
    assert group["KmsKeyId"] == stack.resolve(key.key_arn)


def test_the_default_security_group_lets_nothing_through(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network")
    assertions.Template.from_stack(stack).resource_count_is("Custom::VpcRestrictDefaultSG", 1)


def test_two_networks_live_in_one_stack(stack: cdk.Stack) -> None:
    for name in ("First", "Second"):
        TrainingNetwork(stack, name)
    assertions.Template.from_stack(stack).resource_count_is("AWS::EC2::VPC", 2)


def test_the_training_subnet_is_private_and_in_the_first_zone(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", availability_zones=["us-east-1c", "us-east-1a"])
    assert network.training_subnet.availability_zone == "us-east-1c"
    assert network.training_subnet.node.path == "Stack/Network/Resource/PrivateSubnet1"


@pytest.mark.parametrize("nat", [True, False])
def test_the_training_subnet_follows_the_training_zone(nat: bool, stack: cdk.Stack) -> None:
    zones = ["us-east-1c", "us-east-1a"]
    network = TrainingNetwork(stack, "Network", availability_zones=zones, training_zone="us-east-1a", nat=nat)
    assert network.training_subnet.availability_zone == "us-east-1a"
    assert network.training_subnet.node.path == "Stack/Network/Resource/PrivateSubnet2"


@pytest.mark.parametrize(
    ("zones", "message"),
    [
        (
            ["us-east-1a", "us-east-1b"],
            "'training_zone' is 'us-east-1d'; give one of availability_zones: us-east-1a, us-east-1b",
        ),
        (
            [],
            "'training_zone' is 'us-east-1d'; name the zones of the VPC in availability_zones too, it among them",
        ),
    ],
)
def test_a_training_zone_without_a_subnet(zones: list[str], message: str, stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", availability_zones=zones, training_zone="us-east-1d")
    assert str(caught.value) == message


def test_private_subnets_take_what_the_public_ones_leave(stack: cdk.Stack) -> None:
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
        (10, "'cidr' is 10, which is not an IPv4 range; write one like 10.0.0.0/16"),
        (None, "'cidr' is None, which is not an IPv4 range; write one like 10.0.0.0/16"),
        ("10.0.0.5/16", "'cidr' is '10.0.0.5/16'; did you mean 10.0.0.0/16?"),
        ("10.0.0.0/255.255.0.0", "'cidr' is '10.0.0.0/255.255.0.0'; did you mean 10.0.0.0/16?"),
        ("127.0.0.0/16", "'cidr' is '127.0.0.0/16', which no VPC can have; give a private range such as 10.0.0.0/16"),
        ("ten", "'cidr' is 'ten', which is not an IPv4 range; write one like 10.0.0.0/16"),
    ],
)
def test_a_range_that_is_no_vpcs(cidr: Any, message: str, stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", cidr=cidr)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("zones", "message"),
    [
        (["us-east-1a"], "is ['us-east-1a']; give two or more, as EKS needs them, the training zone first"),
        ("us-east-1a", "is 'us-east-1a'; give two or more, as EKS needs them, the training zone first"),
        (["use1-az1", "use1-az2"], "is 'use1-az1'; give names of zones, such as us-east-1a"),
        (["us-east-1a", "us-east-1a"], "is ['us-east-1a', 'us-east-1a']; give each zone once"),
        (
            ["us-east-1a", "eu-west-1a"],
            "is ['us-east-1a', 'eu-west-1a'], of us-east-1 and eu-west-1; give zones of one region",
        ),
        (2, "is 2; give a list"),
        ([1, 2], "is 1; give names of zones, such as us-east-1a"),
    ],
)
def test_zones_that_are_none(zones: Any, message: str, stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", availability_zones=zones)
    assert str(caught.value) == f"'availability_zones' {message}"


def test_a_local_zone_has_a_longer_name(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network", availability_zones=["us-west-2-lax-1a", "us-west-2a"])


def test_zones_of_another_region_than_the_stacks() -> None:
    stack = cdk.Stack(cdk.App(), "Stack", env=cdk.Environment(region="eu-west-1"))
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
    assert str(caught.value) == (
        "'availability_zones' is ['us-east-1a', 'us-east-1b'], of us-east-1, but the stack's region is eu-west-1; give "
        "zones of eu-west-1, or make the stack with env=cdk.Environment(region='us-east-1')"
    )
    TrainingNetwork(stack, "Local", availability_zones=["eu-west-1a", "eu-west-1b"])


def test_no_zones_are_those_of_the_region(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network", availability_zones=None)


def test_zones_that_the_deployment_knows(stack: cdk.Stack) -> None:
    zones = [cdk.Token.as_string({"Ref": "Zone"}), "us-east-1b"]
    assert len(TrainingNetwork(stack, "Network", availability_zones=zones).private_subnets) == 2


def test_a_flag_is_no_string(stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        TrainingNetwork(stack, "Network", nat="no")  # type: ignore[arg-type]
    assert str(caught.value) == "'nat' is 'no'; give True or False"


def test_a_range_that_is_known_at_deployment_only_is_taken(stack: cdk.Stack) -> None:
    check_vpc_cidr("cidr", cdk.CfnParameter(stack, "Cidr").value_as_string)
