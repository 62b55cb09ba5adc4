import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from tests.constructs.site import properties
from training_cluster import TrainingNetwork

SERVICES = {
    "autoscaling",
    "ec2",
    "ecr.api",
    "ecr.dkr",
    "eks",
    "eks-auth",
    "elasticfilesystem",
    "lambda",
    "logs",
    "monitoring",
    "sts",
}


@pytest.fixture(scope="module")
def stack() -> cdk.Stack:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingNetwork(stack, "Network", cidr="10.2.0.0/16", nat=False)
    return stack


@pytest.fixture(scope="module")
def template(stack: cdk.Stack) -> assertions.Template:
    return assertions.Template.from_stack(stack)


def test_nothing_leads_to_the_internet(template: assertions.Template) -> None:
    for kind in ("AWS::EC2::NatGateway", "AWS::EC2::InternetGateway", "AWS::EC2::Route"):
        template.resource_count_is(kind, 0)


def test_the_subnets_are_those_of_a_network_with_nat(template: assertions.Template) -> None:
    ranges = [subnet["CidrBlock"] for subnet in properties(template, "AWS::EC2::Subnet")]
    assert sorted(ranges) == ["10.2.128.0/18", "10.2.64.0/18"]


def test_every_service_that_nodes_need_is_inside(template: assertions.Template) -> None:
    endpoints = properties(template, "AWS::EC2::VPCEndpoint")
    inside = [endpoint for endpoint in endpoints if endpoint["VpcEndpointType"] == "Interface"]
    names = {str(endpoint["ServiceName"]["Fn::Join"][1][-1]).removeprefix(".") for endpoint in inside}
    assert names == SERVICES
    for endpoint in inside:
        assert endpoint["PrivateDnsEnabled"] is True
        assert len(endpoint["SubnetIds"]) == 2
    (gateway,) = [endpoint for endpoint in endpoints if endpoint["VpcEndpointType"] == "Gateway"]
    assert gateway["ServiceName"]["Fn::Join"][1][-1] == ".s3"


def test_only_the_vpc_reaches_them(template: assertions.Template) -> None:
    (group,) = properties(template, "AWS::EC2::SecurityGroup")
    (rule,) = group["SecurityGroupIngress"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 443, 443)
    assert rule["CidrIp"] == "10.2.0.0/16"
    (egress,) = group["SecurityGroupEgress"]
    assert egress["CidrIp"] == "255.255.255.255/32"


def test_a_warning_says_what_is_out_of_reach(stack: cdk.Stack) -> None:
    assertions.Annotations.from_stack(stack).has_warning(
        "/Stack/Network/Endpoints",
        assertions.Match.string_like_regexp("without NAT .* a mirror in ECR .* mirror-commands"),
    )


def test_session_manager_is_reached_by_option() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingNetwork(stack, "Network", nat=False, ssm=True)
    found = properties(assertions.Template.from_stack(stack), "AWS::EC2::VPCEndpoint")
    names = {str(each["ServiceName"]["Fn::Join"][1][-1]) for each in found}
    assert {".ssm", ".ssmmessages"} <= names
    assert len(found) == len(SERVICES) + 3
