import pytest

from tests.constructs.account.stubbed_account import EXISTING_VPC, StubbedAccount, deployment
from training_cluster.account.subnet_checks import subnets_have_addresses

STACK = {
    "Cluster": ("AWS::EKS::Cluster", "training"),
    "Private": ("AWS::EC2::Subnet", "subnet-1"),
    "Public": ("AWS::EC2::Subnet", "subnet-2"),
}
SYSTEM = [("system", "m5.xlarge")] * 3


@pytest.mark.parametrize(("free", "state"), [(21, "ok"), (20, "failed")])
def test_free_addresses_are_compared_with_the_nodes_that_may_start(free: int, state: str) -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    subnets = [
        {"AvailabilityZone": "us-west-2a", "MapPublicIpOnLaunch": public, "AvailableIpAddressCount": count}
        for public, count in ((False, free), (True, 59))
    ]
    expected = {"Filters": [{"Name": "subnet-id", "Values": ["subnet-1", "subnet-2"]}]}
    account.answer("ec2", "describe_subnets", {"Subnets": subnets}, expected)
    account.answer_zones()
    account.answer_instances(*SYSTEM, ("gpu", "p5.48xlarge"))
    (found,) = subnets_have_addresses(deployment(account))
    # One of two nodes runs; the other takes 20 addresses for pods and one for itself.
    assert (found.check, found.state) == ("addresses in us-west-2a", state)
    assert (found.actual, found.needed) == (f"{free} free", "21 for the nodes that may start")


def test_a_zone_without_a_private_subnet_is_named() -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    account.answer_subnets()
    account.answer_zones()
    account.answer_instances()
    (found,) = subnets_have_addresses(deployment(account))
    assert (found.state, found.actual) == ("failed", "the VPC has no private subnet there")


def test_before_the_deployment_there_is_nothing_to_count() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    (found,) = subnets_have_addresses(deployment(account))
    assert (found.state, found.actual) == (
        "skipped",
        "there is no TrainingClusterStack yet; the file's own check has counted them",
    )


@pytest.mark.parametrize(("free", "state"), [(105, "ok"), (104, "failed")])
def test_the_subnets_of_an_existing_vpc_are_counted_before_the_deployment(free: int, state: str) -> None:
    account = StubbedAccount()
    # A node gets an address in a subnet that gives public ones, too.
    account.answer_subnets(
        {"AvailabilityZone": "us-west-2a", "MapPublicIpOnLaunch": True, "AvailableIpAddressCount": free},
        {"AvailabilityZone": "us-west-2b", "MapPublicIpOnLaunch": False, "AvailableIpAddressCount": 9},
    )
    account.answer_no_stack()
    (found,) = subnets_have_addresses(deployment(account, existing_vpc=EXISTING_VPC))
    # Two nodes and three system nodes, of 21 each.
    assert (found.check, found.state) == ("addresses in us-west-2a", state)
    assert found.needed == "105 for the nodes that may start"
    assert found.remedy == (
        "" if state == "ok" else "lower max_size, or name a larger subnet in existing_vpc.private_subnet_ids"
    )
