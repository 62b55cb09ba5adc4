"""The output of `trainctl cluster plan`: the changes of each stack, their effects, and a line to decide on."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from training_cluster.account.manifests import HELM_CHART, MANIFEST
from training_cluster.changes.cluster_plan import ClusterPlan
from training_cluster.changes.findings import KEPT, LOST, REJECTED, STOPS, UNKNOWN, Outcome
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.changes.template_changes import Action, ResourceChange, Template
from training_cluster.changes.template_cost import template_cost
from training_cluster.cli.account_output import print_releases
from training_workloads.cli.cluster_output import print_table
from training_workloads.terminal import say

__all__ = ["plan_as_data", "print_plan"]

_MARKS: dict[Action, str] = {"create": "+", "update": "~", "replace": "-/+", "remove": "-"}
_WORDS = {LOST: "LOST", REJECTED: "REJECTED", STOPS: "stops", KEPT: "kept", UNKNOWN: "unknown"}
_ENDS: dict[Outcome, str] = {
    LOST: "lost",
    REJECTED: "rejected",
    STOPS: "with nodes that stop",
    KEPT: "kept and billed",
    UNKNOWN: "that could not be read",
}

# Of one kind of change that many resources have, such as another tag, this many are named.
_MOST_ALIKE = 2


def print_plan(plan: ClusterPlan) -> None:
    """Print the changes, the effects, the ways to avoid these, and the last line."""
    for stack in plan.stacks:
        _print_stack(stack)
    if plan.findings:
        say("")
        rows = [[_WORDS[each.outcome], each.subject, each.effect, _keys(each.keys)] for each in plan.findings]
        print_table(["", "RESOURCE", "EFFECT", "KEYS"], rows)
    if remedies := list(dict.fromkeys(f"{each.subject}: {each.remedy}" for each in plan.findings if each.remedy)):
        say("", *remedies)
    for each in (each for each in plan.findings if each.steps):
        say("", f"{each.subject}, in this order:", *(f"  {n}. {step}" for n, step in enumerate(each.steps, 1)))
    if plan.releases:
        say("")
        print_releases(plan.releases)
    say("", _last_line(plan))


def plan_as_data(plan: ClusterPlan) -> dict[str, Any]:
    """Return the plan for a program."""
    return {
        "safe": plan.is_safe,
        "usd_per_hour": {
            stack.name: {"before": _dollars(stack.old), "after": _dollars(stack.new)} for stack in plan.stacks
        },
        "findings": [asdict(each) for each in plan.findings],
        "ami_releases": [asdict(each) for each in plan.releases],
        "stacks": {
            stack.name: [
                {
                    "action": each.action,
                    "logical_id": each.logical_id,
                    "type": each.kind,
                    "paths": each.paths,
                    "keys": stack.keys(each),
                    "retained": each.is_retained,
                }
                for each in stack.changes
            ]
            for stack in plan.stacks
        },
    }


def _dollars(template: Template) -> float | None:
    estimate = template_cost(template)
    return estimate.usd_per_hour if estimate else None


def _print_stack(stack: PlannedStack) -> None:
    if not stack.changes:
        say(f"{stack.name}: no changes")
        return
    new = "" if stack.deployed else " (not deployed yet)"
    say(f"{stack.name}{new}: {_counts(each.action for each in stack.changes)}")
    if stack.deployed:
        print_table(["", "RESOURCE", "CHANGES", "KEYS"], _rows(stack))
    before, after = template_cost(stack.old), template_cost(stack.new)
    # A type with no node, or a part without a price in both, changes no sum.
    if before and after and before.total != after.total:
        more = "" if before.unpriced or after.unpriced else f" ({after.usd_per_hour - before.usd_per_hour:+.2f})"
        say(f"per hour before: {before.total}", f"per hour after:  {after.total}{more}")


def _rows(stack: PlannedStack) -> Iterator[list[str]]:
    alike: dict[tuple[Any, ...], list[ResourceChange]] = {}
    for change in stack.changes:
        alike.setdefault((change.action, change.kind, change.paths, change.is_retained), []).append(change)
    for (action, kind, paths, is_retained), changes in alike.items():
        place = "cluster" if kind in (MANIFEST, HELM_CHART) else "account"
        effect = f"stays in the {place}" if is_retained else ", ".join(paths)
        for change in changes[:_MOST_ALIKE]:
            yield [_MARKS[action], stack.title(change), effect, _keys(stack.keys(change))]
        if (more := len(changes) - _MOST_ALIKE) > 0:
            yield [_MARKS[action], f"and {more} more of this type", effect, ""]


def _keys(keys: Iterable[str]) -> str:
    return ", ".join(keys) or "-"


def _counts(actions: Iterable[Action]) -> str:
    found = Counter(actions)
    return ", ".join(f"{found[action]} to {action}" for action in _MARKS if found[action])


def _last_line(plan: ClusterPlan) -> str:
    total = _counts(each.action for stack in plan.stacks for each in stack.changes) or "no changes"
    found = Counter(each.outcome for each in plan.findings)
    effects = ", ".join(f"{found[outcome]} {word}" for outcome, word in _ENDS.items() if found[outcome])
    return f"Plan: {total}; {effects + '; ' if effects else ''}{_decision(plan)}"


def _decision(plan: ClusterPlan) -> str:
    if not plan.is_safe:
        # Where one of them has no other way than to keep a value, the steps of the rest lead nowhere.
        rejections = [each for each in plan.findings if each.outcome in (LOST, REJECTED)]
        steps = all(each.steps for each in rejections)
        return "do not deploy it like this" + (": follow the steps above" if steps else "")
    is_known = all(each.outcome != UNKNOWN for each in plan.findings)
    decision = "nothing is lost, and AWS takes it" if is_known else "nothing is known to be lost"
    jobs = {job for each in plan.findings for job in each.jobs}
    return f"{decision}; deploy when {', '.join(sorted(jobs))} may stop" if jobs else decision
