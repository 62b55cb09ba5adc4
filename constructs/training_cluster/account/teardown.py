"""The end of a cluster: the reasons against it, the resources that it leaves, and those that stand in its way."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.cluster_state import connect_to, describe_cluster, mounting_pods
from training_cluster.account.deployed_stack import FILE_SYSTEM, DeployedStack, find_stack
from training_cluster.account.kept_resources import KeptResource, kept_by_data_stack, kept_resources
from training_cluster.account.lustre_state import NO_LAG, read_lustre
from training_cluster.account.node_entries import NodeEntry, node_entries
from training_cluster.account.stack_deletion import DELETING
from training_cluster.account.vpc_leftovers import find_leftovers
from training_workloads.aws.errors import NoPermissionError, RequestError
from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.jobs import list_jobs
from training_workloads.validation import InputError, Problem

__all__ = ["Teardown", "find_blockers", "plan_teardown"]

_MOST_NAMES = 5

_UNPROTECT = "set 'deletion_protection: false' in cluster.yaml and deploy that"


@dataclass(frozen=True, kw_only=True, slots=True)
class Teardown:
    """The conditions of the deletion of a cluster's stack, and the resources that it leaves.

    Attributes:
        stack: The stack.
        has_begun: Whether its deletion runs already.
        kept: The resources that stay in the account.
        in_vpc: A line for each resource in its VPC that is not the stack's.
        entries: The access entries that go from clusters of other stacks.
        blockers: The reasons against it, each with its fix.
    """

    stack: DeployedStack
    has_begun: bool
    kept: tuple[KeptResource, ...]
    in_vpc: tuple[str, ...]
    entries: tuple[NodeEntry, ...]
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
    has_begun = found.status == DELETING
    blockers = [] if has_begun else find_blockers(account, found, context)
    return Teardown(
        stack=found,
        has_begun=has_begun,
        kept=tuple(kept),
        in_vpc=tuple(_in_vpc(account, found)),
        entries=tuple(node_entries(account, found)),
        blockers=tuple(blockers),
    )


def _in_vpc(account: Account, stack: DeployedStack) -> list[str]:
    try:
        return [each.line for each in find_leftovers(account, stack)]
    except RequestError as error:
        return [f"what else is in it cannot be read: {error}"]


def find_blockers(account: Account, stack: DeployedStack, context: str | None) -> list[str]:
    """Return the reasons against destroying a cluster, each with its fix."""
    if stack.status.endswith("_IN_PROGRESS"):
        return [f"{stack.name} is {stack.status}: wait until it has ended"]
    return [*_protected_stack(account, stack), *_users(account, stack, context), *_behind(account, stack)]


def _protected_stack(account: Account, stack: DeployedStack) -> Iterator[str]:
    if stack.is_protected:
        command = f"update-termination-protection --no-enable-termination-protection --stack-name {stack.name}"
        yield (
            f"CloudFormation protects {stack.name} from deletion: {_UNPROTECT}, or run 'aws cloudformation {command} "
            f"--region {account.region}'"
        )


def _protected_cluster(account: Account, stack: DeployedStack, described: Mapping[str, Any]) -> Iterator[str]:
    # The nodes and the file systems would be deleted before EKS rejects the deletion of the cluster.
    if described.get("deletionProtection"):
        command = f"update-cluster-config --name {stack.cluster_name} --no-deletion-protection"
        yield (
            f"EKS protects {stack.cluster_name} from deletion: {_UNPROTECT}, or run 'aws eks {command} "
            f"--region {account.region}'"
        )


def _users(account: Account, stack: DeployedStack, context: str | None) -> Iterator[str]:
    """Yield the jobs and the other pods that use the cluster; also that they cannot be read."""
    # After a deletion that failed halfway there may be none.
    if stack.cluster_name is None:
        return
    try:
        described = describe_cluster(account, stack)
        yield from _protected_cluster(account, stack, described)
        with connect_to(account, stack, context, described) as cluster:
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
