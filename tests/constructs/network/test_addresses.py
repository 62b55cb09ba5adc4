import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from tests.constructs.site import properties
from training_cluster import TrainingNetwork
from training_cluster.network.addresses import private_subnet_prefix, usable_addresses

ZONES = ["us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"]


@pytest.mark.parametrize(
    ("cidr", "zones", "prefix"),
    [
        ("10.0.0.0/16", 2, 18),
        ("10.0.0.0/16", 3, 18),
        ("10.0.0.0/16", 4, 19),
        ("10.0.0.0/17", 5, 20),
        ("172.16.0.0/19", 2, 21),
        ("192.168.0.0/20", 3, 22),
    ],
)
def test_it_is_what_cdk_makes(cidr: str, zones: int, prefix: int) -> None:
    assert private_subnet_prefix(cidr, zones) == prefix
    stack = cdk.Stack(cdk.App(), "Stack")
    TrainingNetwork(stack, "Network", cidr=cidr, availability_zones=ZONES[:zones])
    subnets = properties(assertions.Template.from_stack(stack), "AWS::EC2::Subnet")
    private = [subnet["CidrBlock"] for subnet in subnets if not subnet["MapPublicIpOnLaunch"]]
    assert [block.rpartition("/")[2] for block in private] == [str(prefix)] * zones


def test_aws_keeps_five_addresses() -> None:
    assert usable_addresses(24) == 251
    assert usable_addresses(18) == 16379
