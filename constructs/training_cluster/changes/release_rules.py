"""The effect of a deployment on the Kubernetes release of the cluster."""

from collections.abc import Iterator

from training_cluster.account.deployed_stack import CLUSTER
from training_cluster.account.upgrade_checks import way_to_release
from training_cluster.changes.findings import REJECTED, Finding, Live
from training_cluster.changes.planned_stack import PlannedStack

__all__ = ["release_is_the_next_one"]


def release_is_the_next_one(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """EKS upgrades a cluster by one minor release, and an update of the cluster never goes back."""
    for change in stack.of_kind(CLUSTER):
        before, after = change.old.get("Version"), change.new.get("Version")
        if change.action != "update" or not isinstance(before, str) or not isinstance(after, str):
            continue
        if remedy := way_to_release(before, after):
            yield Finding(
                outcome=REJECTED,
                subject=stack.title(change),
                effect=f"Kubernetes {after} in place of {before}: EKS upgrades by one minor release at a time",
                keys=stack.keys(change),
                remedy=remedy,
            )
