"""Checks of On-Demand Capacity Reservations and Capacity Blocks: state, type, zone, count, dates."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment

__all__ = [
    "is_active",
    "is_block",
    "most_nodes",
    "placement_group_of",
    "reservations_fit_the_node_groups",
    "shown_reservation",
]

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html
_BLOCK = "capacity-block"
_ACTIVE = "active"
_SCHEDULED = "scheduled"
_NOT_YET = (_SCHEDULED, "pending", "payment-pending", "assessing", "delayed")
_NOT_FOUND = "InvalidCapacityReservationId"


def reservations_fit_the_node_groups(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare each reservation with its node groups: EKS creates no group while there is nothing to launch into."""
    sharing: dict[str, list[str]] = {}
    for name, group in deployment.config.node_groups.items():
        if group.capacity_reservation_id is not None and not group.reservation_group:
            sharing.setdefault(group.capacity_reservation_id, []).append(name)
    for id, names in sharing.items():
        found = _find(deployment, id)
        for name in names:
            yield _compared(deployment, name, names, found)


def _compared(deployment: Deployment, name: str, sharing: list[str], found: dict[str, Any] | None) -> CheckResult:
    """Return the result for one of the groups that share a reservation."""
    group = deployment.config.node_groups[name]
    zone = deployment.zone_of(group)
    kind = "Capacity Block" if group.capacity_type == "CAPACITY_BLOCK" else "reservation"
    state = f"{_ACTIVE} or {_SCHEDULED}" if _can_wait(deployment, name) else _ACTIVE
    needed = f"{kind}, {state}, {group.maximum} x {group.instance_type} in {zone}"
    if len(sharing) > 1:
        needed += f", {most_nodes(deployment, sharing)} for {' and '.join(sharing)}"
    if found is None:
        here = f"{deployment.account.region} of this account has no {group.capacity_reservation_id}"
        fix = "'aws ec2 describe-capacity-reservations' shows those of the account; set AWS_REGION or the key"
        return decided(f"reservation of {name}", False, actual=here, needed=needed, remedy=fix)
    faults = [*_faults(deployment, name, found), *_number_faults(deployment, sharing, found)]
    return decided(f"reservation of {name}", not faults, actual=_shown(found), needed=needed, remedy="; ".join(faults))


def _find(deployment: Deployment, id: str) -> dict[str, Any] | None:
    request: dict[str, Any] = {"CapacityReservationIds": [id]}
    answer = deployment.account.find("ec2", "describe_capacity_reservations", _NOT_FOUND, **request)
    return next(iter(answer["CapacityReservations"]), None) if answer else None


def _faults(deployment: Deployment, name: str, found: dict[str, Any]) -> Iterator[str]:
    """Yield the fix of each difference between a reservation and its node group."""
    group = deployment.config.node_groups[name]
    state, start, end = found["State"], found.get("StartDate"), found.get("EndDate")
    if state in _NOT_YET:
        if not (_can_wait(deployment, name) and state == _SCHEDULED):
            yield f"deploy when it is active{f', from {_day(start)}' if start else ''}"
    elif state != _ACTIVE or (end and end <= datetime.now(UTC)):
        yield f"it is over or was not granted ({state}): give another capacity_reservation_id, or omit it"
    if found["InstanceType"] != group.instance_type:
        yield f"set node_groups.{name}.instance_type to {found['InstanceType']}"
    if found["AvailabilityZone"] != deployment.zone_of(group):
        yield deployment.put_into(name, found["AvailabilityZone"])
    if is_block(found) != (group.capacity_type == "CAPACITY_BLOCK"):
        right = "CAPACITY_BLOCK" if is_block(found) else "ON_DEMAND"
        yield f"set node_groups.{name}.capacity_type to {right}"
    placed = None if is_block(found) else placement_group_of(found)
    if placed and placed != group.placement_group:
        yield f"set node_groups.{name}.placement_group to {placed}, in which the reservation was made"


def _number_faults(deployment: Deployment, sharing: list[str], found: dict[str, Any]) -> Iterator[str]:
    """Yield the fix where a reservation has fewer instances than its groups may have, or fewer free ones."""
    total, free = found["TotalInstanceCount"], found["AvailableInstanceCount"]
    sizes = " and ".join(f"node_groups.{name}.max_size" for name in sharing)
    if total < most_nodes(deployment, sharing):
        to = f"{total}{' in sum' if len(sharing) > 1 else ''}"
        yield f"set {sizes} to {to}, or enlarge the reservation"
    # Before its start nothing of a block is free.
    elif found["State"] == _ACTIVE and free < (missing := sum(map(deployment.missing_nodes, sharing))):
        yield f"{missing} must be free: end the other instances in it, or lower {sizes}"


def _can_wait(deployment: Deployment, name: str) -> bool:
    """Return whether a group is of a Capacity Block and starts no node: it can be deployed before the block begins.

    https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks.html (read 2026-11-23) says so of self-managed
    nodes; the page on managed ones is silent.
    """
    group = deployment.config.node_groups[name]
    return group.capacity_type == "CAPACITY_BLOCK" and group.desired == 0


def most_nodes(deployment: Deployment, names: list[str]) -> int:
    """Return the nodes of some groups at their `max_size`, in sum."""
    return sum(deployment.config.node_groups[name].maximum for name in names)


def is_block(found: dict[str, Any]) -> bool:
    """Return whether a reservation is a Capacity Block."""
    return found.get("ReservationType") == _BLOCK


def is_active(found: dict[str, Any]) -> bool:
    """Return whether instances can be launched into a reservation."""
    return bool(found["State"] == _ACTIVE)


def placement_group_of(found: dict[str, Any]) -> str | None:
    """Return the name of the placement group in which a reservation was made: its instances are of this group too."""
    return found.get("PlacementGroupArn", "").rpartition("/")[2] or None


def shown_reservation(found: dict[str, Any]) -> str:
    """Return a reservation in words, with its free instances."""
    kind = "Capacity Block" if is_block(found) else "reservation"
    free = f"{found['AvailableInstanceCount']} of {found['TotalInstanceCount']} free"
    place = f", in placement group {placed}" if (placed := placement_group_of(found)) else ""
    return f"{kind}, {found['State']}, {found['InstanceType']} in {found['AvailabilityZone']}, {free}{place}"


def _shown(found: dict[str, Any]) -> str:
    dates = "".join(
        f", {word} {_day(found[key])}" for word, key in (("from", "StartDate"), ("to", "EndDate")) if found.get(key)
    )
    return f"{shown_reservation(found)}{dates}"


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
