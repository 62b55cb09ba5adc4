"""Checks of On-Demand Capacity Reservations and Capacity Blocks: state, type, zone, count, dates."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.config import GpuNodeGroupConfig
from training_workloads.images.aws_errors import RejectionError

__all__ = ["reservations_fit_the_node_groups"]

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html
_BLOCK = "capacity-block"
_ACTIVE = "active"
_NOT_YET = ("scheduled", "pending", "payment-pending", "assessing", "delayed")
_NOT_FOUND = "InvalidCapacityReservationId"


def reservations_fit_the_node_groups(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare each reservation with its node group: EKS creates no group while there is nothing to launch into."""
    for name, group in deployment.config.node_groups.items():
        if group.capacity_reservation_id is not None:
            yield _compared(deployment, name, group, group.capacity_reservation_id)


def _compared(deployment: Deployment, name: str, group: GpuNodeGroupConfig, id: str) -> CheckResult:
    zone = deployment.zone_of(group)
    kind = "Capacity Block" if group.capacity_type == "CAPACITY_BLOCK" else "reservation"
    needed = f"{kind}, active, {group.spec.maximum} x {group.instance_type} in {zone}"
    reservation = _find(deployment, id)
    if reservation is None:
        here = f"{deployment.account.region} of this account has no {id}"
        fix = "'aws ec2 describe-capacity-reservations' shows those of the account; set AWS_REGION or the key"
        return decided(f"reservation of {name}", False, actual=here, needed=needed, remedy=fix)
    faults = list(_faults(deployment, name, reservation))
    return decided(
        f"reservation of {name}", not faults, actual=_shown(reservation), needed=needed, remedy="; ".join(faults)
    )


def _find(deployment: Deployment, id: str) -> dict[str, Any] | None:
    try:
        answer = deployment.account.ask("ec2", "describe_capacity_reservations", CapacityReservationIds=[id])
    except RejectionError as error:
        if not error.code.startswith(_NOT_FOUND):
            raise
        return None
    return next(iter(answer["CapacityReservations"]), None)


def _faults(deployment: Deployment, name: str, found: dict[str, Any]) -> Iterator[str]:
    """Yield what to do about each difference between a reservation and its node group."""
    group = deployment.config.node_groups[name]
    state, start, end = found["State"], found.get("StartDate"), found.get("EndDate")
    if state in _NOT_YET:
        yield f"deploy when it is active{f', from {_day(start)}' if start else ''}"
    elif state != _ACTIVE or (end and end <= datetime.now(UTC)):
        yield f"it is over or was not granted ({state}): give another capacity_reservation_id, or omit it"
    if found["InstanceType"] != group.instance_type:
        yield f"set node_groups.{name}.instance_type to {found['InstanceType']}"
    if found["AvailabilityZone"] != deployment.zone_of(group):
        yield deployment.put_into(name, found["AvailabilityZone"])
    if found["TotalInstanceCount"] < group.spec.maximum:
        yield f"set node_groups.{name}.max_size to {found['TotalInstanceCount']}, or enlarge the reservation"
    is_block = found.get("ReservationType") == _BLOCK
    if is_block != (group.capacity_type == "CAPACITY_BLOCK"):
        right = "CAPACITY_BLOCK" if is_block else "ON_DEMAND"
        yield f"set node_groups.{name}.capacity_type to {right}"


def _shown(found: dict[str, Any]) -> str:
    kind = "Capacity Block" if found.get("ReservationType") == _BLOCK else "reservation"
    free = f"{found['AvailableInstanceCount']} of {found['TotalInstanceCount']} free"
    dates = "".join(
        f", {word} {_day(found[key])}" for word, key in (("from", "StartDate"), ("to", "EndDate")) if found.get(key)
    )
    where = f"{found['InstanceType']} in {found['AvailabilityZone']}"
    return f"{kind}, {found['State']}, {where}, {free}{dates}"


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
