"""The deletion of a stack, with CloudFormation's events, and of what holds its VPC."""

import time
from collections.abc import Callable
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import DeployedStack, find_stack
from training_cluster.account.vpc_leftovers import Leftover, find_leftovers, remove
from training_workloads.aws.errors import RequestError, UnreachableError

__all__ = ["DELETING", "DeletionError", "delete_stack", "destroy_stack"]

#: CloudFormation's word for a deletion that runs.
DELETING = "DELETE_IN_PROGRESS"

_DELETED = "DELETE_COMPLETE"
_FAILED = "DELETE_FAILED"

_PAUSE_SECONDS = 5
_SILENCES = 36

# How often the VPC is looked at while the deletion runs, and while AWS Lambda releases its interfaces, in pauses; and
# for how long that is waited for: AWS names up to 40 minutes.
_PAUSES_BETWEEN_LOOKS = 12
_LONGEST_WAIT_SECONDS = 60 * 60

# The first, one after the interfaces of the VPC are gone, and one for what was found meanwhile.
_ATTEMPTS = 3

Show = Callable[[str], None]


class DeletionError(Exception):
    """CloudFormation could not delete the stack."""


def destroy_stack(account: Account, stack: DeployedStack, show: Show) -> None:
    """Delete a stack; where resources in its VPC hold it, remove those of its cluster, wait for AWS's, and repeat.

    A deletion that runs is followed, and one that has failed is resumed.

    Raises:
        DeletionError: A resource could not be deleted; with the resources in the VPC that others must remove.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        if stack.status == _FAILED:
            _clear_vpc(account, stack, show)
        try:
            delete_stack(account, stack, show)
        except DeletionError as error:
            found = find_stack(account, stack.name)
            left = _leftovers(account, found, show) if found else []
            if found is None or attempt == _ATTEMPTS or not any(_passes(each) for each in left):
                named = [each.line for each in left if each.fate == "named"]
                raise DeletionError("; ".join([str(error), *named])) from error
            show(f"{stack.name} is not deleted completely: {error}; it is deleted again")
            stack = found
        else:
            return


def delete_stack(account: Account, stack: DeployedStack, show: Show) -> None:
    """Delete a stack, show a line for each event, and wait for the end; a deletion that has begun is followed.

    Meanwhile it removes what a cluster that is deleted has left in the VPC.

    Raises:
        DeletionError: A resource could not be deleted.
    """
    seen = {each["EventId"] for each in _new_events(account, stack, set())}
    if stack.status != DELETING:
        account.ask("cloudformation", "delete_stack", StackName=stack.arn)
    failures: list[str] = []
    silences = looks = 0
    while True:
        try:
            for event in _new_events(account, stack, seen):
                seen.add(event["EventId"])
                show(_line(event))
                # The stack's own event repeats those of its resources.
                if event["ResourceStatus"] == _FAILED and event["PhysicalResourceId"] != stack.arn:
                    failures.append(_line(event))
            (found,) = account.ask("cloudformation", "describe_stacks", StackName=stack.arn)["Stacks"]
            silences = 0
        except UnreachableError:
            silences += 1
            if silences == _SILENCES:
                raise
            time.sleep(_PAUSE_SECONDS)
            continue
        if found["StackStatus"] == _DELETED:
            return
        if found["StackStatus"] == _FAILED:
            raise DeletionError("; ".join(failures) or found.get("StackStatusReason", _FAILED))
        looks += 1
        if looks % _PAUSES_BETWEEN_LOOKS == 0:
            _remove_all(account, _leftovers(account, stack, show), show)
        time.sleep(_PAUSE_SECONDS)


def _clear_vpc(account: Account, stack: DeployedStack, show: Show) -> None:
    """Remove the resources that the cluster made, and wait until AWS has removed its own.

    Raises:
        DeletionError: AWS has not within the time that it may take.
    """
    shown = 0
    for _ in range(0, _LONGEST_WAIT_SECONDS, _PAUSES_BETWEEN_LOOKS * _PAUSE_SECONDS):
        left = _leftovers(account, stack, show)
        _remove_all(account, left, show)
        awaited = [each for each in left if each.fate == "awaited"]
        if not awaited:
            return
        if len(awaited) != shown:
            shown = len(awaited)
            show(f"waiting for {shown} interfaces, such as {awaited[0].line}")
        time.sleep(_PAUSES_BETWEEN_LOOKS * _PAUSE_SECONDS)
    raise DeletionError(f"{shown} interfaces are there after {_LONGEST_WAIT_SECONDS // 60} minutes: {awaited[0].line}")


def _remove_all(account: Account, left: list[Leftover], show: Show) -> None:
    for each in left:
        if each.fate == "removed":
            reason = remove(account, each)
            show(f"removed {each.id} ({each.about})" if reason is None else f"{each.line}; not yet: {reason}")


def _leftovers(account: Account, stack: DeployedStack, show: Show) -> list[Leftover]:
    """Return the resources in the VPC that are not the stack's; none, and a line, where they cannot be read."""
    try:
        return find_leftovers(account, stack)
    except RequestError as error:
        show(f"what else is in the VPC cannot be read: {error}")
        return []


def _passes(leftover: Leftover) -> bool:
    return leftover.fate in ("removed", "awaited")


def _new_events(account: Account, stack: DeployedStack, seen: set[str]) -> list[dict[str, Any]]:
    """Return the events that were not seen yet, the oldest first."""
    new: list[dict[str, Any]] = []
    for page in account.pages("cloudformation", "describe_stack_events", StackName=stack.arn):
        for event in page["StackEvents"]:
            if event["EventId"] in seen:
                return new[::-1]
            new.append(event)
    return new[::-1]


def _line(event: dict[str, Any]) -> str:
    why = event.get("ResourceStatusReason")
    line = f"{event['ResourceStatus']} {event['ResourceType']} {event['LogicalResourceId']}"
    return f"{line}: {' '.join(why.split())}" if why else line
