from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.reservation_checks import reservations_fit_the_node_groups

ID = "cr-0123456789abcdef0"


def reserved(account: StubbedAccount, **values: Any) -> Deployment:
    zones = ["us-west-2a", "us-west-2b"]
    return deployment(account, capacity_reservation_id=ID, availability_zones=zones, **values)


def answer(account: StubbedAccount, *, nodes: int = 0, **changes: Any) -> None:
    found = {
        "State": "active",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-west-2a",
        "TotalInstanceCount": 2,
        "AvailableInstanceCount": 2,
        **changes,
    }
    expected = {"CapacityReservationIds": [ID]}
    account.answer("ec2", "describe_capacity_reservations", {"CapacityReservations": [found]}, expected)
    if nodes:
        account.answer_stack({"Cluster": ("AWS::EKS::Cluster", "training")})
        account.answer_instances(*[("gpu", "p5.48xlarge")] * nodes)
    else:
        account.answer_no_stack()


def test_a_reservation_that_fits_is_right() -> None:
    account = StubbedAccount()
    answer(account)
    (found,) = reservations_fit_the_node_groups(reserved(account))
    assert (found.check, found.state, found.remedy) == ("reservation of gpu", "ok", "")
    assert found.actual == "reservation, active, p5.48xlarge in us-west-2a, 2 of 2 free"
    assert found.needed == "reservation, active, 2 x p5.48xlarge in us-west-2a"


@pytest.mark.parametrize(("free", "state"), [(1, "ok"), (0, "failed")])
def test_nodes_that_run_in_it_need_no_free_instance(free: int, state: str) -> None:
    account = StubbedAccount()
    answer(account, nodes=1, AvailableInstanceCount=free)
    (found,) = reservations_fit_the_node_groups(reserved(account))
    remedy = "1 must be free: end the other instances in it, or lower node_groups.gpu.max_size"
    assert (found.state, found.remedy) == (state, "" if state == "ok" else remedy)


@pytest.mark.parametrize(
    ("total", "free", "remedy"),
    [
        (8, 8, ""),
        (7, 7, "set node_groups.one.max_size and node_groups.two.max_size to 7 in sum, or enlarge the reservation"),
        (
            8,
            6,
            "8 must be free: end the other instances in it, or lower node_groups.one.max_size and "
            "node_groups.two.max_size",
        ),
    ],
)
def test_groups_of_one_reservation_share_its_instances(total: int, free: int, remedy: str) -> None:
    account = StubbedAccount()
    answer(account, TotalInstanceCount=total, AvailableInstanceCount=free)
    group = {"instance_type": "p5.48xlarge", "max_size": 4, "capacity_reservation_id": ID}
    rows = list(reservations_fit_the_node_groups(reserved(account, node_groups={"one": group, "two": group})))
    assert [each.check for each in rows] == ["reservation of one", "reservation of two"]
    assert [each.remedy for each in rows] == [remedy, remedy]
    assert [each.state for each in rows] == ["failed" if remedy else "ok"] * 2
    assert rows[0].needed == "reservation, active, 4 x p5.48xlarge in us-west-2a, 8 for one and two"


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"InstanceType": "p4d.24xlarge"}, "set node_groups.gpu.instance_type to p4d.24xlarge"),
        ({"AvailabilityZone": "us-west-2b"}, "put us-west-2b first in availability_zones"),
        ({"TotalInstanceCount": 1}, "set node_groups.gpu.max_size to 1, or enlarge the reservation"),
        (
            {"State": "expired"},
            "it is over or was not granted (expired): give another capacity_reservation_id, or omit it",
        ),
        ({"ReservationType": "capacity-block"}, "set node_groups.gpu.capacity_type to CAPACITY_BLOCK"),
    ],
)
def test_each_difference_has_its_remedy(changes: dict[str, Any], remedy: str) -> None:
    account = StubbedAccount()
    answer(account, **changes)
    (found,) = reservations_fit_the_node_groups(reserved(account))
    assert (found.state, found.remedy) == ("failed", remedy)


START = datetime(2030, 1, 2, 11, 30, tzinfo=UTC)
BLOCK: dict[str, Any] = {"ReservationType": "capacity-block", "StartDate": START, "EndDate": START + timedelta(days=1)}


@pytest.mark.parametrize("sizes", [{"min_size": 1}, {"desired_size": 1}], ids=lambda sizes: next(iter(sizes)))
def test_a_group_with_nodes_waits_for_the_start_of_its_capacity_block(sizes: dict[str, int]) -> None:
    account = StubbedAccount()
    answer(account, State="scheduled", AvailableInstanceCount=0, **BLOCK)
    (found,) = reservations_fit_the_node_groups(reserved(account, capacity_type="CAPACITY_BLOCK", **sizes))
    assert (found.state, found.remedy) == ("failed", "deploy when it is active, from 2030-01-02 11:30 UTC")
    answer(account, **BLOCK)
    (found,) = reservations_fit_the_node_groups(reserved(account, capacity_type="CAPACITY_BLOCK", **sizes))
    assert found.state == "ok"


def test_a_group_without_nodes_is_deployed_before_its_capacity_block_begins() -> None:
    account = StubbedAccount()
    answer(account, State="scheduled", AvailableInstanceCount=0, **BLOCK)
    (found,) = reservations_fit_the_node_groups(reserved(account, capacity_type="CAPACITY_BLOCK"))
    assert (found.state, found.remedy) == ("ok", "")
    assert found.actual.endswith("from 2030-01-02 11:30 UTC, to 2030-01-03 11:30 UTC")
    assert found.needed == "Capacity Block, active or scheduled, 2 x p5.48xlarge in us-west-2a"


def test_a_capacity_block_that_is_not_paid_is_not_granted() -> None:
    account = StubbedAccount()
    answer(account, State="payment-pending", **BLOCK)
    (found,) = reservations_fit_the_node_groups(reserved(account, capacity_type="CAPACITY_BLOCK"))
    assert (found.state, found.remedy) == ("failed", "deploy when it is active, from 2030-01-02 11:30 UTC")


def test_a_capacity_block_that_has_ended_is_over() -> None:
    account = StubbedAccount()
    answer(account, ReservationType="capacity-block", EndDate=datetime(2024, 1, 1, tzinfo=UTC))
    (found,) = reservations_fit_the_node_groups(reserved(account, capacity_type="CAPACITY_BLOCK"))
    assert found.remedy.startswith("it is over")


def test_a_reservation_of_another_region_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("ec2", "describe_capacity_reservations", "InvalidCapacityReservationId.NotFound")
    (found,) = reservations_fit_the_node_groups(reserved(account))
    assert (found.state, found.actual) == ("failed", f"us-west-2 of this account has no {ID}")


def test_a_group_without_a_reservation_has_no_row() -> None:
    assert list(reservations_fit_the_node_groups(deployment(StubbedAccount()))) == []


def test_the_zone_of_a_group_is_its_own_key() -> None:
    account = StubbedAccount()
    answer(account, AvailabilityZone="us-west-2b")
    (found,) = reservations_fit_the_node_groups(reserved(account, availability_zone="us-west-2a"))
    assert (found.state, found.remedy) == ("failed", "set node_groups.gpu.availability_zone to us-west-2b")


def test_a_zone_beside_that_of_the_file_system_needs_a_second_one() -> None:
    account = StubbedAccount()
    answer(account, AvailabilityZone="us-west-2c")
    zones = {"availability_zone": "us-west-2a", "further_zones": ["us-west-2b"]}
    (found,) = reservations_fit_the_node_groups(reserved(account, availability_zone="us-west-2b", lustre=zones))
    assert found.remedy == (
        "set node_groups.gpu.availability_zone to us-west-2c, and add it to availability_zones and lustre.further_zones"
    )


PLACED = "arn:aws:ec2:us-west-2:111122223333:placement-group/my-group"


@pytest.mark.parametrize(
    ("placement", "remedy"),
    [
        ({}, "set node_groups.gpu.placement_group to my-group, in which the reservation was made"),
        (
            {"placement_group": "other"},
            "set node_groups.gpu.placement_group to my-group, in which the reservation was made",
        ),
        ({"placement_group": "my-group"}, ""),
    ],
)
def test_the_placement_group_of_a_reservation_is_named(placement: dict[str, str], remedy: str) -> None:
    account = StubbedAccount()
    answer(account, PlacementGroupArn=PLACED)
    (found,) = reservations_fit_the_node_groups(reserved(account, **placement))
    assert (found.state, found.remedy) == ("failed" if remedy else "ok", remedy)
    assert found.actual.endswith("2 of 2 free, in placement group my-group")


def test_no_placement_group_is_set_for_a_capacity_block() -> None:
    account = StubbedAccount()
    answer(account, PlacementGroupArn=PLACED, ReservationType="capacity-block")
    (found,) = reservations_fit_the_node_groups(reserved(account, capacity_type="CAPACITY_BLOCK"))
    assert (found.state, found.remedy) == ("ok", "")


def test_the_zone_of_a_reservation_does_not_move_a_deployed_cluster() -> None:
    account = StubbedAccount()
    answer(account, nodes=1, AvailabilityZone="us-west-2b")
    (found,) = reservations_fit_the_node_groups(reserved(account))
    assert found.remedy.startswith("keep us-west-2a, the zone of the deployed file system, and add one in us-west-2b:")
