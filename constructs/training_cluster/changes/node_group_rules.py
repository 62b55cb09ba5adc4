"""The effects of a deployment on node groups: nodes and jobs that stop, and updates that EKS rejects."""

from collections.abc import Iterator

from training_cluster.account.deployed_stack import NODE_GROUP
from training_cluster.changes.findings import REJECTED, STOPS, Finding, Jobs, Live, LiveNodeGroup
from training_cluster.changes.planned_stack import PlannedStack, group_name
from training_cluster.changes.template_changes import ResourceChange, value_at
from training_workloads.catalog.nodes import CAPACITY_BLOCK

__all__ = ["node_groups_are_updated"]

# EKS takes these by UpdateNodegroupVersion, and all others by UpdateNodegroupConfig and TagResource. CloudFormation
# rejects an update of both: https://github.com/aws/aws-cdk/issues/16644
_OF_THE_NODES = {"LaunchTemplate", "ReleaseVersion", "Version"}
_NO_UPDATE = {"ForceUpdateEnabled"}

# EKS updates no group in these: https://github.com/aws/containers-roadmap/issues/2204 and .../2326
_DEGRADED = ("DEGRADED", "CREATE_FAILED")

_WHEN_IDLE = "let the jobs end, or suspend them, and deploy when none runs"
_EMPTY_FIRST = (
    "let its jobs end",
    "set its min_size and desired_size to 0, leave everything else as deployed, and deploy: its nodes stop",
    "deploy this change, still with 0",
    "set the sizes again, and deploy",
)


def node_groups_are_updated(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """EKS rejects some updates of a node group, and stops nodes with others."""
    changed = [each for each in stack.of_kind(NODE_GROUP) if each.action != "create"]
    # These are known from the templates, also where the cluster cannot be read.
    for change in changed:
        yield from _combined(stack, change)
    for change in changed:
        found = live.node_group(stack.physical_id(change))
        yield from _rejections(stack, change, found)
        if change.deletes:
            yield from _stopped(stack, change, found, live)
        elif _of_the_nodes(change):
            yield from _rolled(stack, change, found, live)
        yield from _scaled(stack, change, found, live)


def _of_the_nodes(change: ResourceChange) -> set[str]:
    return {path for path in change.paths if path.partition("/")[0] in _OF_THE_NODES}


def _combined(stack: PlannedStack, change: ResourceChange) -> Iterator[Finding]:
    nodes = _of_the_nodes(change)
    settings = sorted(path for path in change.paths if path not in nodes and path not in _NO_UPDATE)
    if change.action != "update" or not (nodes and settings):
        return
    of_settings = stack.own_keys(change, settings)
    of_nodes = [key for key in stack.keys(change) if key not in of_settings]
    first = ", ".join(of_settings or settings)
    then = ", ".join(of_nodes) or ", ".join(sorted(nodes))
    yield Finding(
        outcome=REJECTED,
        subject=stack.title(change),
        effect="its nodes and its settings change, and CloudFormation rejects both in one deployment",
        keys=stack.keys(change),
        steps=(
            f"deploy the new values of {first}, with {then} as deployed: no node is replaced",
            f"deploy the new values of {then}: the nodes are replaced one after the other",
        ),
    )


def _rejections(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None) -> Iterator[Finding]:
    if change.action != "update" or found is None:
        return
    subject, keys = stack.title(change), stack.keys(change)
    if found.status in _DEGRADED:
        issues = f" ({'; '.join(found.issues)})" if found.issues else ""
        effect = f"it is {found.status}{issues}, and EKS updates it only after a node has started"
        remedy = "fix the reason, and plan again; where a size or a template is the reason, follow the steps"
        steps = ("remove the group from the file, and deploy", "add it again with the new values, and deploy")
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy, steps=steps)
    if _of_the_nodes(change) and found.desired and change.old.get("CapacityType") == CAPACITY_BLOCK:
        effect = "EKS does not update the nodes of a Capacity Block one after the other"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, steps=_EMPTY_FIRST)


def _stopped(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    nodes = found.desired if found else 0
    if not nodes:
        return
    name = group_name(change)
    created = [each for each in stack.of_kind(NODE_GROUP) if each.action == "create" and group_name(each) == name]
    successor = change.after if change.action == "replace" else created[0].after if created else None
    jobs = live.jobs_on(name)
    word = "deleted" if successor is None else "a new group takes its place"
    effect = f"{word}: its {nodes} nodes stop{_named(jobs)}"
    if waiting := _waiting(stack, change, successor is not None, created, jobs):
        effect += f"; {', '.join(waiting)} names the deployed type or group, and then waits for ever"
    yield Finding(
        outcome=STOPS,
        subject=stack.title(change),
        effect=effect,
        keys=stack.keys(change),
        remedy=_WHEN_IDLE if jobs.all else "",
        steps=_steps(stack, change, name, jobs) if successor is not None else (),
        jobs=jobs.all,
    )


def _waiting(
    stack: PlannedStack, change: ResourceChange, has_successor: bool, created: list[ResourceChange], jobs: Jobs
) -> list[str]:
    """Return the jobs that no node fits any more: they name the type of the old nodes, or the group that goes."""
    if not has_successor:
        return sorted({*jobs.by_type, *jobs.by_group})
    before = stack.instance_types(change)
    after = stack.instance_types(created[0]) if created else stack.instance_types(change, new=True)
    return sorted(jobs.by_type) if before != after else []


def _steps(stack: PlannedStack, change: ResourceChange, name: str, jobs: Jobs) -> tuple[str, ...]:
    """Return the way to another kind of node beside jobs, or with capacity that has no room for both groups."""
    if stack.is_reserved(change):
        return _EMPTY_FIRST
    if not jobs.all:
        return ()
    return (
        f"leave {name} as deployed, add a node group of another name with the new values, and deploy",
        f"submit new jobs to it, and let those on {name} end",
        f"remove {name} from the file, and deploy",
    )


def _rolled(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    if not found or not found.desired:
        return
    jobs = live.jobs_on(group_name(change))
    subject, keys = stack.title(change), stack.keys(change)
    if jobs.held:
        held = ", ".join(jobs.held)
        effect = f"its {found.desired} nodes are replaced, which {held} holds: the update fails after 15 minutes"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=_WHEN_IDLE, jobs=jobs.held)
    else:
        effect = f"its {found.desired} nodes are replaced one after the other{_named(jobs)}"
        yield Finding(outcome=STOPS, subject=subject, effect=effect, keys=keys, jobs=jobs.all)


def _scaled(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    """A changed size sends the desired size too, whatever the autoscaler has made of it."""
    if change.action != "update" or not any(path.startswith("ScalingConfig") for path in change.paths) or not found:
        return
    wanted = value_at(change.new, "ScalingConfig/DesiredSize")
    if isinstance(wanted, int) and wanted < found.desired:
        jobs = live.jobs_on(group_name(change))
        (desired,) = stack.own_keys(change, ["ScalingConfig/DesiredSize"])
        yield Finding(
            outcome=STOPS,
            subject=stack.title(change),
            effect=f"its desired size becomes {wanted}: {found.desired - wanted} of {found.desired} nodes "
            f"stop{_named(jobs)}",
            keys=stack.keys(change),
            remedy=f"set {desired} to {found.desired}, or deploy when no job runs",
            jobs=jobs.all,
        )


def _named(jobs: Jobs) -> str:
    return f", with {', '.join(jobs.all)}" if jobs.all else ""
