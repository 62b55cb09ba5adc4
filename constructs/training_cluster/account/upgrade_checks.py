"""Checks of an update of a deployed cluster: the state of its stack, its release, and the jobs on its nodes."""

from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.cluster_state import connect_to, jobs_that_hold_nodes
from training_cluster.account.deployed_stack import STUCK
from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.cluster.job_summaries import SUSPENDED
from training_workloads.cluster.jobs import list_jobs

__all__ = ["kubernetes_release_is_the_next_one", "no_job_holds_an_update", "stack_can_be_updated", "way_to_release"]


def stack_can_be_updated(deployment: Deployment) -> Iterator[CheckResult]:
    """CloudFormation rejects an update while another one runs, and after a rollback that failed."""
    stack = deployment.cluster
    if stack is None:
        yield _not_deployed(deployment, "state of the stack")
        return
    yield decided(
        "state of the stack",
        not stack.status.endswith("_IN_PROGRESS") and stack.status not in STUCK,
        actual=stack.status,
        needed="a state that CloudFormation updates",
        remedy=STUCK.get(stack.status, "wait until it has ended"),
    )


def kubernetes_release_is_the_next_one(deployment: Deployment) -> Iterator[CheckResult]:
    """EKS upgrades one minor release at a time, and goes back by one only within seven days.

    https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html and .../rollback-cluster.html, read 2026-11-23.
    """
    check, wanted = "Kubernetes release", deployment.config.kubernetes_version
    has = deployment.release
    if has is None:
        yield _not_deployed(deployment, check)
        return
    remedy = way_to_release(has, wanted)
    yield decided(check, not remedy, actual=has, needed=wanted, remedy=remedy)


def way_to_release(has: str, wanted: str) -> str:
    """Return what to do where a deployment cannot change a release to another one; empty where it can."""
    step = _minor(wanted) - _minor(has)
    if step in (0, 1):
        return ""
    if step < 0:
        return f"set kubernetes_version to {has}: a deployment upgrades only; docs/upgrade.md has EKS's own way back"
    following = f"1.{_minor(has) + 1}"
    if following in KUBERNETES_VERSIONS:
        return f"one release at a time: set kubernetes_version to {following} and deploy, then to the next"
    return f"one release at a time: upgrade it to {following} with 'aws eks update-cluster-version' first"


def no_job_holds_an_update(deployment: Deployment) -> Iterator[CheckResult]:
    """A job whose pods may not be evicted fails an update of its nodes, and then the rollback of a new release too.

    Which other changes update a node group, `cdk diff` shows: the account does not know the template.
    """
    check, stack = "jobs on the nodes", deployment.cluster
    if stack is None or stack.cluster_name is None:
        yield _not_deployed(deployment, check)
        return
    with connect_to(deployment.account, stack, deployment.context) as cluster:
        holding = jobs_that_hold_nodes(cluster)
        found = list_jobs(cluster, all_namespaces=True)
    # A job that waits for a node may get one during the update; one that is suspended has no pods.
    running = [f"{job.name} in {job.namespace}" for job in found if not job.is_finished and job.state != SUSPENDED]
    evicted = [job for job in running if job not in holding]
    changes = deployment.release != deployment.config.kubernetes_version
    shown = [f"{', '.join(jobs)} {what}" for jobs, what in ((holding, "held"), (evicted, "can be evicted")) if jobs]
    yield decided(
        check,
        not (holding and changes),
        actual="; ".join(shown) or "none runs",
        needed="none held: a new release updates every node"
        if changes
        else "none held if 'cdk diff' shows a new launch template",
        remedy="let those that are held end, or suspend them, then deploy (docs/upgrade.md)",
    )


def _not_deployed(deployment: Deployment, check: str) -> CheckResult:
    return skipped(check, f"there is no {deployment.cluster_stack} with a cluster yet")


def _minor(release: str) -> int:
    return int(release.split(".")[1])
