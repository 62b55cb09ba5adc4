import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.subnet_checks import subnets_have_addresses

STACK = {
    "Cluster": ("AWS::EKS::Cluster", "training"),
    "Private": ("AWS::EC2::Subnet", "subnet-1"),
    "Public": ("AWS::EC2::Subnet", "subnet-2"),
}


@pytest.mark.parametrize(("free", "state"), [(21, "ok"), (20, "failed")])
def test_free_addresses_are_compared_with_the_nodes_that_may_start(free: int, state: str) -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    subnets = [
        {"AvailabilityZone": "us-west-2a", "MapPublicIpOnLaunch": public, "AvailableIpAddressCount": count}
        for public, count in ((False, free), (True, 59))
    ]
    account.answer("ec2", "describe_subnets", {"Subnets": subnets}, {"SubnetIds": ["subnet-1", "subnet-2"]})
    account.answer_instances("p5.48xlarge")
    account.answer_zones()
    (found,) = subnets_have_addresses(deployment(account))
    # One of two nodes runs; the other takes 20 addresses for pods and one for itself.
    assert (found.check, found.state) == ("addresses in us-west-2a", state)
    assert (found.actual, found.needed) == (f"{free} free", "21 for the nodes that may start")


def test_a_zone_without_a_private_subnet_is_named() -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    account.answer("ec2", "describe_subnets", {"Subnets": []})
    account.answer_instances()
    account.answer_zones()
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
