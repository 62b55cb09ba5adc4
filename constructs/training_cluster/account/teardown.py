"""The end of a cluster: the reasons against it, and the deletion of its stack, with CloudFormation's events."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.cluster_state import connect_to, mounting_pods
from training_cluster.account.deployed_stack import FILE_SYSTEM, DeployedStack, find_stack
from training_cluster.account.kept_resources import KeptResource, kept_by_data_stack, kept_resources
from training_cluster.account.lustre_state import NO_LAG, read_lustre
from training_workloads.aws.errors import NoPermissionError, RequestError, UnreachableError
from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.jobs import list_jobs
from training_workloads.validation import InputError, Problem

__all__ = ["DeletionError", "Teardown", "delete_stack", "find_blockers", "plan_teardown"]

_DELETING = "DELETE_IN_PROGRESS"
_DELETED = "DELETE_COMPLETE"
_FAILED = "DELETE_FAILED"

_PAUSE_SECONDS = 5
_SILENCES = 36

_MOST_NAMES = 5


class DeletionError(Exception):
    """CloudFormation could not delete the stack."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Teardown:
    """The conditions of the deletion of a cluster's stack, and the resources that it leaves.

    Attributes:
        stack: The stack.
        has_begun: Whether its deletion runs already.
        kept: The resources that stay in the account.
        blockers: The reasons against it, each with its fix.
    """

    stack: DeployedStack
    has_begun: bool
    kept: tuple[KeptResource, ...]
    blockers: tuple[str, ...]


def plan_teardown(account: Account, stack: str, data_stack: str, context: str | None) -> Teardown:
    """Return the conditions of the deletion of a cluster's stack and the resources that it leaves; change nothing.

    Raises:
        InputError: There is no such stack.
        AwsError: AWS cannot be asked, or rejects a request.
    """
    _ = account.identity
    found = find_stack(account, stack)
    if found is None:
        allowed = f"{account.region} of this account has no such stack"
        fix = "set AWS_PROFILE and AWS_REGION to where it is; 'aws cloudformation list-stacks' shows the names"
        raise InputError(Problem(path=("stack",), given=stack, allowed=allowed, fix=fix))
    data = find_stack(account, data_stack)
    kept = [*kept_resources(account, found), *(kept_by_data_stack(account, data) if data else [])]
    has_begun = found.status == _DELETING
    blockers = [] if has_begun else find_blockers(account, found, context)
    return Teardown(stack=found, has_begun=has_begun, kept=tuple(kept), blockers=tuple(blockers))


def find_blockers(account: Account, stack: DeployedStack, context: str | None) -> list[str]:
    """Return the reasons against destroying a cluster, each with its fix."""
    if stack.status.endswith("_IN_PROGRESS"):
        return [f"{stack.name} is {stack.status}: wait until it has ended"]
    return [*_users(account, stack, context), *_behind(account, stack)]


def _users(account: Account, stack: DeployedStack, context: str | None) -> Iterator[str]:
    """Yield the jobs and the other pods that use the cluster; also that they cannot be read."""
    # After a deletion that failed halfway there may be none.
    if stack.cluster_name is None:
        return
    try:
        with connect_to(account, stack, context) as cluster:
            yield from _jobs_and_pods(cluster)
    except NoPermissionError as error:
        yield f"whether jobs run cannot be read: {error}"
    except (ClusterError, RequestError) as error:
        yield (
            f"whether jobs run cannot be read: {error} ('cdk destroy {stack.name}' does not ask, and needs no access "
            "to the cluster)"
        )


def _jobs_and_pods(cluster: Cluster) -> Iterator[str]:
    jobs = [f"{job.name} in {job.namespace}" for job in list_jobs(cluster, all_namespaces=True) if not job.is_finished]
    if jobs:
        yield f"{_some(jobs, 'job')} did not end: 'trainctl wait <name>', or 'trainctl cancel <name> -n <namespace>'"
    elif pods := mounting_pods(cluster):
        # Of a job that runs these would be its own pods.
        yield (
            f"a mounted file system holds the stack's deletion, here by {_some(pods, 'pod')}: delete what created "
            "them, such as 'kubectl delete deployment tensorboard'"
        )


def _behind(account: Account, stack: DeployedStack) -> Iterator[str]:
    for id in stack.ids(FILE_SYSTEM):
        try:
            state = read_lustre(account, id)
        except RequestError as error:
            yield f"the exports of {id} cannot be read: {error}"
            continue
        if state and state.unexported:
            yield f"changes of {id} may not be in the bucket: {state.unexported}: wait, or fix the data repository"
        elif state and state.has_unknown_exports:
            yield f"changes of {id} may not be in the bucket: {NO_LAG}; look into the bucket, then 'cdk destroy'"


def _some(names: list[str], what: str) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{len(names)} {what}{'s' * (len(names) > 1)} ({shown}{more})"


def delete_stack(account: Account, stack: DeployedStack, show: Callable[[str], None]) -> None:
    """Delete a stack, show a line for each event, and wait for the end; a deletion that has begun is followed.

    Raises:
        DeletionError: A resource could not be deleted.
    """
    seen = {each["EventId"] for each in _new_events(account, stack, set())}
    if stack.status != _DELETING:
        account.ask("cloudformation", "delete_stack", StackName=stack.arn)
    failures: list[str] = []
    silences = 0
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
        time.sleep(_PAUSE_SECONDS)


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
