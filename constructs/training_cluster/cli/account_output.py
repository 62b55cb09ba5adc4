"""The output of the commands of the group `cluster`: the checks, the report, and the resources that stay."""

import sys
from collections.abc import Iterable

from training_cluster.account.check_result import FAILED, OK, SKIPPED, CheckResult
from training_cluster.account.cluster_report import ClusterReport
from training_cluster.account.cluster_state import ClusterState
from training_cluster.account.deployed_stack import FILE_SYSTEM
from training_cluster.account.kept_resources import KeptResource
from training_cluster.account.lustre_state import LustreState
from training_cluster.account.node_releases import NodeRelease
from training_cluster.account.teardown import Teardown
from training_workloads.cli.cluster_output import print_jobs, print_table
from training_workloads.terminal import say

__all__ = ["kept_lines", "print_checks", "print_cluster_report", "print_releases", "print_teardown"]

_MARKS = {OK: "✓", FAILED: "✗", SKIPPED: "skipped"}
_WORDS = {OK: "ok", FAILED: "FAILED", SKIPPED: "skipped"}


def print_checks(results: Iterable[CheckResult]) -> None:
    """Print a table of the checks, then the fixes."""
    found = list(results)
    marks = _MARKS if _can_write("".join(_MARKS.values())) else _WORDS
    rows = [[marks[each.state], each.check, each.actual, each.needed or "-"] for each in found]
    print_table(["", "CHECK", "ACTUAL", "NEEDED"], rows)
    if remedies := [f"{marks[each.state]} {each.check}: {each.remedy}" for each in found if each.remedy]:
        say("", *remedies)


def _can_write(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def print_cluster_report(report: ClusterReport) -> None:
    """Print the resources that run in the account."""
    print_table(["STACK", "STATE"], report.stacks.items())
    if report.cluster:
        say("", f"cluster {report.cluster}")
        _print_nodes(report)
    if report.releases:
        say("")
        print_releases(report.releases)
    if report.kubernetes:
        _print_platform(report.kubernetes)
    if report.file_systems:
        say("")
        columns = ["LUSTRE", "STATE", "GIB", "USED", "EXPORT LAG", "TASKS"]
        print_table(columns, [_lustre_row(each) for each in report.file_systems])
    if report.kubernetes:
        say("")
        if report.kubernetes.jobs:
            print_jobs(report.kubernetes.jobs, with_namespace=True)
        else:
            say("no jobs")
    if report.price:
        say("", f"per hour: {report.price}")
    if report.notes:
        say("", *(f"note: {text}" for text in report.notes))


def print_releases(releases: Iterable[NodeRelease]) -> None:
    """Print a table of the AMI's releases by node group, then the known faults of those that run."""
    found = list(releases)
    rows = [[each.group, each.deployed or "-", each.pinned or "EKS chooses", each.newest or "?"] for each in found]
    print_table(["NODE GROUP", "AMI RELEASE", "PINNED", "NEWEST"], rows)
    if faults := [f"{each.group} runs {each.deployed}: {fault}" for each in found for fault in each.faults]:
        say("", *faults)


def _print_nodes(report: ClusterReport) -> None:
    known = {each.instance_type: each for each in report.kubernetes.nodes} if report.kubernetes else {}
    rows = []
    for name in sorted({*report.instances, *known}):
        node = known.get(name)
        gpus = _of(node.gpus, node.expected_gpus) if node else "?"
        efa = _of(node.efa, node.expected_efa) if node else "?"
        ready = f"{node.ready}/{node.nodes}" if node else "?"
        rows.append([name, str(report.instances.get(name, 0)), ready, gpus, efa])
    if rows:
        print_table(["NODES", "INSTANCES", "READY", "GPUS", "EFA"], rows)
    else:
        say("no nodes")


def _of(has: int, expected: int | None) -> str:
    return f"{has}/{'?' if expected is None else expected}"


def _print_platform(state: ClusterState) -> None:
    say("")
    rows = [
        [each.name, "not installed" if each.wanted is None else f"{each.ready}/{each.wanted}"]
        for each in state.platform
    ]
    print_table(["PLATFORM", "READY"], rows)


def _lustre_row(state: LustreState) -> list[str]:
    used = "?" if state.used_percent is None else f"{state.used_percent} %"
    lag = "?" if state.export_lag_seconds is None else f"{state.export_lag_seconds} s"
    return [state.id, "; ".join([state.lifecycle, *state.broken]), str(state.capacity_gib), used, lag, str(state.tasks)]


def print_teardown(plan: Teardown, region: str) -> None:
    """Print on standard error the effects of a deletion and the resources that stay, or the reasons against it."""
    if plan.blockers:
        blockers = [f"error: {each}" for each in plan.blockers]
        say(*blockers, f"{plan.stack.name} is not destroyed", error=True)
        return
    lines = [f"deletes {plan.stack.name} in {region}: {len(plan.stack.resources)} resources"]
    if systems := plan.stack.ids(FILE_SYSTEM):
        lines.append(f"with it {', '.join(systems)}: files outside of its data repositories are lost")
    lines += [f"with it the access entry of {each.role} in {each.cluster}" for each in plan.entries]
    if plan.in_vpc:
        lines += ["in its VPC, and not the stack's:", *(f"  {each}" for each in plan.in_vpc)]
    lines += ["stays:", *kept_lines(plan.kept)] if plan.kept else ["nothing stays"]
    say(*lines, error=True)


def kept_lines(kept: Iterable[KeptResource]) -> list[str]:
    """Return a line for each resource that stays, and their cost."""
    found = list(kept)
    lines = [f"  {each.kind} {each.id}: {_holds(each)}" for each in found]
    prices = [each.usd_per_month for each in found if each.usd_per_month is not None]
    if prices:
        least = "at least " if len(prices) < len(found) else ""
        lines.append(f"  together {least}{sum(prices):.2f} USD a month in us-east-1, without requests")
    return lines


def _holds(kept: KeptResource) -> str:
    cost = "cost not known" if kept.usd_per_month is None else f"{kept.usd_per_month:.2f} USD a month"
    return cost if kept.gib is None else f"{kept.gib} GiB, {cost}"
