from typing import Any

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.check_result import CheckResult
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.reservation_group_checks import (
    placement_groups_exist,
    reservation_groups_fit_the_node_groups,
)

ARN = "arn:aws:resource-groups:us-west-2:111122223333:group/training"
PLACED = "arn:aws:ec2:us-west-2:111122223333:placement-group/my-group"


def grouped(account: StubbedAccount, **values: Any) -> Deployment:
    zones = ["us-west-2a", "us-west-2b"]
    return deployment(account, capacity_reservation_id=ARN, availability_zones=zones, **values)


def member(**changes: Any) -> dict[str, Any]:
    return {
        "State": "active",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-west-2a",
        "TotalInstanceCount": 1,
        "AvailableInstanceCount": 1,
        **changes,
    }


def answer(account: StubbedAccount, *members: dict[str, Any], deployed: bool = False) -> None:
    configuration = {"Configuration": [{"Type": "AWS::EC2::CapacityReservationPool"}]}
    account.answer("resource-groups", "get_group_configuration", {"GroupConfiguration": configuration}, {"Group": ARN})
    start = "arn:aws:ec2:us-west-2:111122223333:capacity-reservation/cr-"
    kind = "AWS::EC2::CapacityReservation"
    resources = [
        {"Identifier": {"ResourceArn": f"{start}{number:017}", "ResourceType": kind}} for number in range(len(members))
    ]
    account.answer("resource-groups", "list_group_resources", {"Resources": resources}, {"Group": ARN})
    if members:
        ids = [f"cr-{number:017}" for number in range(len(members))]
        expected = {"Filters": [{"Name": "capacity-reservation-id", "Values": ids}]}
        account.answer("ec2", "describe_capacity_reservations", {"CapacityReservations": list(members)}, expected)
    account.answer_no_stack()


def row(account: StubbedAccount, **values: Any) -> CheckResult:
    (found,) = reservation_groups_fit_the_node_groups(grouped(account, **values))
    return found


def test_the_members_of_a_group_are_summed() -> None:
    account = StubbedAccount()
    answer(
        account, member(), member(TotalInstanceCount=2, AvailableInstanceCount=2), member(AvailabilityZone="us-west-2b")
    )
    found = row(account, max_size=3)
    assert (found.check, found.state) == ("reservations of gpu", "ok")
    assert found.needed == "reservations, active, 3 x p5.48xlarge in us-west-2a"
    assert found.actual == (
        "reservation, active, p5.48xlarge in us-west-2a, 1 of 1 free; "
        "reservation, active, p5.48xlarge in us-west-2a, 2 of 2 free; "
        "reservation, active, p5.48xlarge in us-west-2b, 1 of 1 free"
    )


@pytest.mark.parametrize(
    ("members", "remedy"),
    [
        (
            [member()],
            "set node_groups.gpu.max_size to 1, or add reservations: EC2 starts the other nodes On-Demand, if it has "
            "capacity",
        ),
        (
            [member(TotalInstanceCount=2, AvailableInstanceCount=1)],
            "2 must be free: end the other instances in the reservations, or lower node_groups.gpu.max_size",
        ),
        (
            [],
            "add an active On-Demand Capacity Reservation of p5.48xlarge in us-west-2a to the resource group",
        ),
        (
            [member(InstanceType="p4d.24xlarge"), member(State="expired"), member(ReservationType="capacity-block")],
            "add an active On-Demand Capacity Reservation of p5.48xlarge in us-west-2a to the resource group",
        ),
        (
            [member(PlacementGroupArn=PLACED, TotalInstanceCount=2, AvailableInstanceCount=2)],
            "set node_groups.gpu.placement_group to my-group",
        ),
    ],
)
def test_a_group_that_does_not_fit_is_named(members: list[dict[str, Any]], remedy: str) -> None:
    account = StubbedAccount()
    answer(account, *members)
    found = row(account)
    assert (found.state, found.remedy) == ("failed", remedy)


def test_members_in_the_named_placement_group_are_counted() -> None:
    account = StubbedAccount()
    answer(account, member(PlacementGroupArn=PLACED), member(PlacementGroupArn=PLACED))
    assert row(account, placement_group="my-group").state == "ok"


def test_a_group_into_which_nothing_can_be_launched_is_named() -> None:
    account = StubbedAccount()
    account.answer("resource-groups", "get_group_configuration", {"GroupConfiguration": {"Configuration": []}})
    found = row(account)
    assert found.state == "failed"
    assert "AWS::EC2::CapacityReservationPool" in found.remedy


def test_a_group_that_does_not_exist_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("resource-groups", "get_group_configuration", "NotFoundException")
    assert row(account).actual == f"us-west-2 of this account has no resource group {ARN} for launches"


def test_node_groups_of_one_type_and_zone_share_the_members() -> None:
    account = StubbedAccount()
    answer(account, member(TotalInstanceCount=3, AvailableInstanceCount=3))
    group = {"instance_type": "p5.48xlarge", "max_size": 2, "capacity_reservation_id": ARN}
    zones = ["us-west-2a", "us-west-2b"]
    both = deployment(account, node_groups={"one": group, "two": group}, availability_zones=zones)
    first, second = reservation_groups_fit_the_node_groups(both)
    assert first.needed == second.needed == "reservations, active, 4 x p5.48xlarge in us-west-2a for one and two"
    assert first.remedy.startswith("set node_groups.one.max_size and node_groups.two.max_size to 3 in sum, or")


@pytest.mark.parametrize(
    ("found", "state", "actual"),
    [
        ({"Strategy": "cluster", "State": "available"}, "ok", "cluster, available"),
        ({"Strategy": "spread", "State": "available"}, "failed", "spread, available"),
        ({"Strategy": "cluster", "State": "deleting"}, "failed", "cluster, deleting"),
    ],
)
def test_a_placement_group_is_looked_up(found: dict[str, str], state: str, actual: str) -> None:
    account = StubbedAccount()
    account.answer("ec2", "describe_placement_groups", {"PlacementGroups": [found]}, {"GroupNames": ["my-group"]})
    (result,) = placement_groups_exist(deployment(account, placement_group="my-group"))
    assert (result.check, result.state, result.actual) == ("placement group of gpu", state, actual)


def test_a_placement_group_that_does_not_exist_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("ec2", "describe_placement_groups", "InvalidPlacementGroup.Unknown")
    (result,) = placement_groups_exist(deployment(account, placement_group="my-group"))
    assert (result.state, result.actual) == ("failed", "us-west-2 of this account has no my-group")
