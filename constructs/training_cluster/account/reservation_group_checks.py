"""Checks of resource groups of reservations, and of placement groups that exist."""

from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.reservation_checks import (
    is_active,
    is_block,
    most_nodes,
    placement_group_of,
    shown_reservation,
)

__all__ = ["placement_groups_exist", "reservation_groups_fit_the_node_groups"]

_NO_RESOURCE_GROUP = "NotFoundException"
_NO_PLACEMENT_GROUP = "InvalidPlacementGroup.Unknown"

# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-group.html
_POOL = "AWS::EC2::CapacityReservationPool"
_MEMBER = "AWS::EC2::CapacityReservation"


def reservation_groups_fit_the_node_groups(deployment: Deployment) -> Iterator[CheckResult]:
    """Sum the reservations of each resource group that fit a node group: beyond them EC2 starts On-Demand instances.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-groups-launch.html (read 2026-11-28)
    """
    groups = deployment.config.node_groups
    members: dict[str, list[dict[str, Any]] | None] = {}
    for name, group in groups.items():
        arn = group.capacity_reservation_id if group.reservation_group else None
        if arn is None:
            continue
        if arn not in members:
            members[arn] = _members(deployment, arn)
        yield _compared(deployment, name, arn, members[arn])


def _compared(deployment: Deployment, name: str, arn: str, members: list[dict[str, Any]] | None) -> CheckResult:
    """Return the result for one of the node groups of a resource group; None: it does not exist."""
    group = deployment.config.node_groups[name]
    sharing = _sharing(deployment, name, arn)
    number = f"{most_nodes(deployment, sharing)} x {group.instance_type} in {deployment.zone_of(group)}"
    needed = f"reservations, active, {number}{' for ' + ' and '.join(sharing) if len(sharing) > 1 else ''}"
    if members is None:
        here = f"{deployment.account.region} of this account has no resource group {arn} for launches"
        fix = f"'aws resource-groups list-groups' shows those of the account; one with the configuration {_POOL} can "
        fix += "be launched into"
        return decided(f"reservations of {name}", False, actual=here, needed=needed, remedy=fix)
    faults = list(_faults(deployment, name, sharing, members))
    actual = "; ".join(map(shown_reservation, members)) or "the resource group has no reservation"
    return decided(f"reservations of {name}", not faults, actual=actual, needed=needed, remedy="; ".join(faults))


def _sharing(deployment: Deployment, name: str, arn: str) -> list[str]:
    """Return the node groups that take the same instances of a resource group."""
    groups = deployment.config.node_groups
    same = groups[name]
    return [
        other
        for other, each in groups.items()
        if each.capacity_reservation_id == arn
        and each.instance_type == same.instance_type
        and deployment.zone_of(each) == deployment.zone_of(same)
    ]


def _members(deployment: Deployment, arn: str) -> list[dict[str, Any]] | None:
    """Return EC2's descriptions of the reservations; None without such a group."""
    account = deployment.account
    found = account.find("resource-groups", "get_group_configuration", _NO_RESOURCE_GROUP, Group=arn)
    kinds = [each["Type"] for each in found["GroupConfiguration"].get("Configuration", ())] if found else []
    if _POOL not in kinds:
        return None
    resources = account.all("resource-groups", "list_group_resources", "Resources", Group=arn)
    identifiers = [each["Identifier"] for each in resources]
    ids = [each["ResourceArn"].rpartition("/")[2] for each in identifiers if each["ResourceType"] == _MEMBER]
    if not ids:
        return []
    # A filter omits a reservation that is gone.
    only = [{"Name": "capacity-reservation-id", "Values": ids}]
    return account.all("ec2", "describe_capacity_reservations", "CapacityReservations", Filters=only)


def _faults(deployment: Deployment, name: str, sharing: list[str], members: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the fix of each difference between the reservations that EC2 can take and the node groups."""
    group = deployment.config.node_groups[name]
    wanted = (group.instance_type, deployment.zone_of(group))
    usable = [each for each in members if is_active(each) and not is_block(each)]
    here = [each for each in usable if (each["InstanceType"], each["AvailabilityZone"]) == wanted]
    matching = [each for each in here if placement_group_of(each) in (None, group.placement_group)]
    if not here:
        yield f"add an active On-Demand Capacity Reservation of {' in '.join(wanted)} to the resource group"
    elif not matching:
        yield f"set node_groups.{name}.placement_group to {placement_group_of(here[0])}"
    else:
        yield from _number_faults(deployment, sharing, matching)


def _number_faults(deployment: Deployment, sharing: list[str], matching: list[dict[str, Any]]) -> Iterator[str]:
    total, free = (sum(each[key] for each in matching) for key in ("TotalInstanceCount", "AvailableInstanceCount"))
    sizes = " and ".join(f"node_groups.{each}.max_size" for each in sharing)
    if total < most_nodes(deployment, sharing):
        to = f"{total}{' in sum' if len(sharing) > 1 else ''}"
        yield f"set {sizes} to {to}, or add reservations: EC2 starts the other nodes On-Demand, if it has capacity"
    elif free < (missing := sum(map(deployment.missing_nodes, sharing))):
        yield f"{missing} must be free: end the other instances in the reservations, or lower {sizes}"


def placement_groups_exist(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up each placement group that a node group names: nodes of another strategy are not close to each other."""
    for name, group in deployment.config.node_groups.items():
        wanted = group.placement_group
        if not isinstance(wanted, str):
            continue
        answer = deployment.account.find("ec2", "describe_placement_groups", _NO_PLACEMENT_GROUP, GroupNames=[wanted])
        found = answer["PlacementGroups"][0] if answer else None
        region = deployment.account.region
        yield decided(
            f"placement group of {name}",
            found is not None and (found["Strategy"], found["State"]) == ("cluster", "available"),
            actual=f"{found['Strategy']}, {found['State']}" if found else f"{region} of this account has no {wanted}",
            needed=f"{wanted}: cluster, available",
            remedy="'aws ec2 describe-placement-groups' shows those of the account: correct "
            f"node_groups.{name}.placement_group, or omit it",
        )
