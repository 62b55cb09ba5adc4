"""The effects of a deployment on node groups: nodes that stop, and updates that EKS rejects."""

from collections.abc import Iterator

from training_cluster.changes.findings import REJECTED, STOPS, Finding, Jobs, Live, LiveNodeGroup
from training_cluster.changes.planned_stack import NODE_GROUP, PlannedStack, group_name
from training_cluster.changes.template_changes import ResourceChange, value_at
from training_workloads.catalog.nodes import CAPACITY_BLOCK

__all__ = ["node_groups_are_updated"]

# EKS takes these by UpdateNodegroupVersion, and all others by UpdateNodegroupConfig and TagResource. CloudFormation
# rejects an update of both: https://github.com/aws/aws-cdk/issues/16644
_OF_THE_NODES = {"LaunchTemplate", "ReleaseVersion", "Version"}
_NO_UPDATE = {"ForceUpdateEnabled"}
_DEGRADED = ("DEGRADED", "CREATE_FAILED")

_TWICE = "deploy twice: first {first}, then {then}"


def node_groups_are_updated(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """EKS rejects some updates of a node group, and stops nodes with others."""
    for change in stack.of_kind(NODE_GROUP):
        if change.action == "create":
            continue
        found = live.node_group(stack.physical_id(change))
        yield from _rejections(stack, change, found)
        if change.deletes:
            yield from _stopped(stack, change, found, live)
        elif _of_the_nodes(change):
            yield from _rolled(stack, change, found, live)
        yield from _scaled(stack, change, found, live)


def _of_the_nodes(change: ResourceChange) -> set[str]:
    return {path for path in change.paths if path.partition("/")[0] in _OF_THE_NODES}


def _rejections(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None) -> Iterator[Finding]:
    if change.action != "update":
        return
    nodes = _of_the_nodes(change)
    settings = {path for path in change.paths if path not in nodes and path not in _NO_UPDATE}
    subject, keys = stack.title(change), stack.keys(change)
    if nodes and settings:
        effect = "its nodes and its settings change, and CloudFormation rejects both in one deployment"
        then = ", ".join(sorted(settings))
        remedy = _TWICE.format(first=f"with the deployed values of {then}", then="with the new ones")
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)
    if found and found.status in _DEGRADED:
        issues = f" ({'; '.join(found.issues)})" if found.issues else ""
        effect = f"it is {found.status}{issues}, and EKS updates it only after a node has started"
        remedy = "fix the reason, or delete the group in a deployment without it, and add it again"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)
    if nodes and found and found.desired and change.old.get("CapacityType") == CAPACITY_BLOCK:
        effect = "EKS does not update the nodes of a Capacity Block one after the other"
        remedy = "set desired_size: 0 and min_size: 0, deploy, then deploy this change"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)


def _stopped(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    nodes = found.desired if found else 0
    if not nodes:
        return
    name = group_name(change)
    created = [each for each in stack.of_kind(NODE_GROUP) if each.action == "create" and group_name(each) == name]
    what = "a new group takes its place" if created or change.action == "replace" else "deleted"
    jobs = live.jobs_on(name)
    effect = f"{what}: its {nodes} nodes stop{_named(jobs)}"
    remedy = "let the jobs end, or suspend them, and deploy when none runs" if jobs.held or jobs.others else ""
    yield Finding(outcome=STOPS, subject=stack.title(change), effect=effect, keys=stack.keys(change), remedy=remedy)


def _rolled(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    if not found or not found.desired:
        return
    jobs = live.jobs_on(group_name(change))
    subject, keys = stack.title(change), stack.keys(change)
    if jobs.held:
        held = ", ".join(jobs.held)
        effect = f"its {found.desired} nodes are replaced, which {held} holds: the update fails after 15 minutes"
        remedy = "let the jobs end, or suspend them, and deploy when none runs"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)
    else:
        effect = f"its {found.desired} nodes are replaced one after the other{_named(jobs)}"
        yield Finding(outcome=STOPS, subject=subject, effect=effect, keys=keys)


def _scaled(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    """A changed size sends the desired size too, whatever the autoscaler has made of it."""
    if change.action != "update" or not any(path.startswith("ScalingConfig") for path in change.paths) or not found:
        return
    wanted = value_at(change.new, "ScalingConfig/DesiredSize")
    if isinstance(wanted, int) and wanted < found.desired:
        jobs = live.jobs_on(group_name(change))
        effect = (
            f"its desired size becomes {wanted}: {found.desired - wanted} of {found.desired} nodes stop{_named(jobs)}"
        )
        remedy = f"set node_groups.{group_name(change)}.desired_size to {found.desired}, or deploy when no job runs"
        yield Finding(outcome=STOPS, subject=stack.title(change), effect=effect, keys=stack.keys(change), remedy=remedy)


def _named(jobs: Jobs) -> str:
    names = [*jobs.held, *jobs.others]
    return f", with {', '.join(names)}" if names else ""
