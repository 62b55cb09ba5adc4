"""Where the nodes of a group run: in a reservation or a group of them, and in which placement group."""

import re
from typing import Annotated, Any

from aws_cdk import aws_ec2 as ec2

from training_cluster.checks import KnownChecked
from training_workloads.catalog.regions import PARTITIONS
from training_workloads.names import ID_DIGITS
from training_workloads.spec import Converted
from training_workloads.validation import Problem, Problems, matches

__all__ = ["SHOWS_RESERVATIONS", "PlacementGroup", "Reservation", "reservation_group_region"]

SHOWS_RESERVATIONS = "aws ec2 describe-capacity-reservations"
_SHOWS_GROUPS = "aws ec2 describe-placement-groups"

# A newer group has an id after its name: https://docs.aws.amazon.com/ARG/latest/userguide/
_RESOURCE_GROUP = re.compile(
    rf"arn:({'|'.join(PARTITIONS)}):resource-groups:(?P<region>[a-z0-9-]+):[0-9]{{12}}:group/[A-Za-z0-9_./-]{{1,300}}"
)
_RESERVATION_ARN = re.compile(rf"arn:[a-z-]+:ec2:[^/]*:capacity-reservation/(?P<id>cr-{ID_DIGITS})")
_RESERVATION_RULE = (
    f"an id such as cr-0123456789abcdef0 ({SHOWS_RESERVATIONS}), or the ARN of a resource group of reservations "
    "(aws resource-groups list-groups), such as arn:aws:resource-groups:us-east-1:111122223333:group/training"
)

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreatePlacementGroup.html
_GROUP_NAME = re.compile(r"(?! )[ -~]{1,255}(?<! )")
_SWITCHES = {"true": True, "false": False}
_NO_SWITCHES = ("yes", "no", "on", "off")


def reservation_group_region(reservation: str | None) -> str | None:
    """Return the region of a resource group of reservations; None for the id of one."""
    found = _RESOURCE_GROUP.fullmatch(reservation or "")
    return found["region"] if found else None


def _reservation(name: str, value: Any) -> Problems:
    """Reject other text than the id of a reservation or the ARN of a group: EC2 takes no ARN of a reservation."""
    if isinstance(value, str) and (found := _RESERVATION_ARN.fullmatch(value)):
        yield Problem(path=(name,), given=value, allowed="that is an ARN", fix=f"give {found['id']}")
        return
    yield from matches(name, value, rf"cr-{ID_DIGITS}|{_RESOURCE_GROUP.pattern}", _RESERVATION_RULE)


def _given_group(value: Any) -> Any:
    """Return a placement group's name; an option of `cdk` has the words true and false as text."""
    name = getattr(value, "placement_group_name", value) if not isinstance(value, type) else value
    return _SWITCHES.get(name, name) if isinstance(name, str) else name


def _placement_group(name: str, value: Any) -> Problems:
    """Reject the id and the ARN of a placement group: a launch template names the group."""
    if value is None or isinstance(value, bool):
        return
    if not isinstance(value, str) or not _GROUP_NAME.fullmatch(value) or value.lower() in _NO_SWITCHES:
        fix = f"give true, false, or the name of an existing placement group ({_SHOWS_GROUPS})"
        yield Problem(path=(name,), given=value, fix=fix)
    elif re.fullmatch(rf"pg-{ID_DIGITS}", value):
        yield Problem(path=(name,), given=value, allowed="that is an id", fix=f"give GroupName of {_SHOWS_GROUPS}")
    elif value.startswith("arn:"):
        yield Problem(path=(name,), given=value, allowed="that is an ARN", fix=f"give {value.rpartition('/')[2]}")


#: The id of a reservation, or the ARN of a resource group of reservations.
Reservation = Annotated[str, KnownChecked(_reservation)]
#: Whether there is a new placement group, or the name of an existing one.
PlacementGroup = Annotated[
    Converted[bool | str | ec2.IPlacementGroup | None, bool | str | None],
    KnownChecked(_placement_group, read=_given_group),
]
