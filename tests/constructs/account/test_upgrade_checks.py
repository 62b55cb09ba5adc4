import pytest

from tests.constructs.account.conftest import Kubernetes
from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.preflight import Check, run_checks
from training_cluster.account.upgrade_checks import (
    kubernetes_release_is_the_next_one,
    no_job_holds_an_update,
    stack_can_be_updated,
)

CLUSTER = {"Cluster": ("AWS::EKS::Cluster", "training")}


def answer_release(account: StubbedAccount, release: str) -> None:
    account.answer("eks", "describe_cluster", {"cluster": {"version": release}}, {"name": "training"})


@pytest.mark.parametrize(
    ("status", "state", "remedy"),
    [
        ("UPDATE_COMPLETE", "ok", ""),
        ("UPDATE_ROLLBACK_COMPLETE", "ok", ""),
        ("ROLLBACK_COMPLETE", "ok", ""),
        ("UPDATE_IN_PROGRESS", "failed", "wait until it has ended"),
        (
            "UPDATE_ROLLBACK_FAILED",
            "failed",
            "continue the rollback ('aws cloudformation continue-update-rollback'): docs/upgrade.md",
        ),
        ("DELETE_FAILED", "failed", "'trainctl cluster destroy' again"),
    ],
)
def test_the_state_of_the_stack_allows_an_update(status: str, state: str, remedy: str) -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER, status=status)
    (found,) = stack_can_be_updated(deployment(account))
    assert (found.check, found.state, found.actual, found.remedy) == ("state of the stack", state, status, remedy)


@pytest.mark.parametrize(
    ("has", "wanted", "state", "remedy"),
    [
        ("1.35", "1.35", "ok", ""),
        ("1.35", "1.36", "ok", ""),
        (
            "1.35",
            "1.37",
            "failed",
            "one release at a time: set kubernetes_version to 1.36 and deploy, then to the next",
        ),
        (
            "1.32",
            "1.35",
            "failed",
            "one release at a time: upgrade it to 1.33 with 'aws eks update-cluster-version' first",
        ),
        (
            "1.36",
            "1.35",
            "failed",
            "set kubernetes_version to 1.36: a deployment upgrades only; docs/upgrade.md has EKS's own way back",
        ),
    ],
)
def test_a_release_is_at_most_one_step_up(has: str, wanted: str, state: str, remedy: str) -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    answer_release(account, has)
    (found,) = kubernetes_release_is_the_next_one(deployment(account, kubernetes_version=wanted))
    assert (found.state, found.actual, found.needed, found.remedy) == (state, has, wanted, remedy)


def answer_jobs(account: StubbedAccount, kubernetes: Kubernetes, release: str) -> None:
    account.answer_stack(CLUSTER)
    kubernetes.known_to(account)
    answer_release(account, release)
    kubernetes.add_job("spot")
    kubernetes.add_job("stage")
    kubernetes.add_job("ended", ended=True)
    suspended = {"conditions": [{"type": "Suspended", "status": "True"}]}
    kubernetes.add("Job", "later", "batch/v1", spec={"suspend": True, "template": {"spec": {}}}, status=suspended)


def add_pod(kubernetes: Kubernetes, name: str, *, phase: str = "Running", **labels: str) -> None:
    """Store a pod by its labels without their prefixes."""
    prefixes = {"hold": "training-cluster/", "mpi": "training.kubeflow.org/", "batch": "batch.kubernetes.io/"}
    names = {"hold": "hold", "mpi": "job-name", "batch": "job-name"}
    full = {prefixes[key] + names[key]: value for key, value in labels.items()}
    kubernetes.add("Pod", name, metadata={"labels": full}, spec={}, status={"phase": phase})


@pytest.mark.parametrize(
    ("release", "state", "needed"),
    [
        ("1.34", "failed", "none held: a new release updates every node"),
        ("1.35", "ok", "none held if 'cdk diff' shows a new launch template"),
    ],
)
def test_a_job_with_held_pods_holds_the_update_to_a_new_release(
    release: str, state: str, needed: str, kubernetes: Kubernetes
) -> None:
    account = StubbedAccount()
    answer_jobs(account, kubernetes, release)
    add_pod(kubernetes, "stage-1", hold="true", batch="stage")
    add_pod(kubernetes, "spot-1", batch="spot")
    (found,) = no_job_holds_an_update(deployment(account))
    assert (found.check, found.state, found.needed) == ("jobs on the nodes", state, needed)
    assert found.actual == "stage in team held; spot in team can be evicted"
    remedy = "let those that are held end, or suspend them, then deploy (docs/upgrade.md)"
    assert found.remedy == (remedy if state == "failed" else "")


def test_jobs_that_can_be_evicted_hold_nothing(kubernetes: Kubernetes) -> None:
    account = StubbedAccount()
    answer_jobs(account, kubernetes, "1.34")
    add_pod(kubernetes, "ended-1", hold="true", batch="ended", phase="Succeeded")
    add_pod(kubernetes, "other-1", hold="false", batch="stage")
    (found,) = no_job_holds_an_update(deployment(account))
    assert (found.state, found.actual) == ("ok", "spot in team, stage in team can be evicted")


def test_held_pods_are_named_by_their_job(kubernetes: Kubernetes) -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    kubernetes.known_to(account)
    answer_release(account, "1.34")
    add_pod(kubernetes, "train-launcher-1", hold="true", mpi="train", batch="train-launcher")
    add_pod(kubernetes, "train-worker-0", hold="true", mpi="train")
    add_pod(kubernetes, "alone", hold="true")
    (found,) = no_job_holds_an_update(deployment(account))
    assert (found.state, found.actual) == ("failed", "alone in team, train in team held")


def test_without_jobs_nothing_holds_it(kubernetes: Kubernetes) -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    kubernetes.known_to(account)
    answer_release(account, "1.34")
    (found,) = no_job_holds_an_update(deployment(account))
    assert (found.state, found.actual) == ("ok", "none runs")


def test_a_kubeconfig_of_another_cluster_skips_it_with_what_to_do(kubernetes: Kubernetes) -> None:
    account = StubbedAccount()
    account.answer_identity()
    account.answer_stack(CLUSTER)
    kubernetes.known_to(account, endpoint="https://another")
    _, found = run_checks(deployment(account), (no_job_holds_an_update,))
    assert (found.check, found.state) == ("no job holds an update", "skipped")
    assert found.remedy.startswith("run 'aws eks update-kubeconfig --region us-west-2 --name training'")


@pytest.mark.parametrize("check", [kubernetes_release_is_the_next_one, no_job_holds_an_update])
def test_a_release_that_may_not_be_read_skips_the_check(check: Check) -> None:
    account = StubbedAccount()
    account.answer_identity()
    account.answer_stack(CLUSTER)
    account.forbid("eks", "describe_cluster")
    _, found = run_checks(deployment(account), (check,))
    assert (found.state, found.remedy) == ("skipped", "allow the action eks:DescribeCluster")


@pytest.mark.parametrize("check", [stack_can_be_updated, kubernetes_release_is_the_next_one, no_job_holds_an_update])
def test_before_the_deployment_there_is_nothing_to_update(check: Check) -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    (found,) = check(deployment(account))
    assert (found.state, found.actual) == ("skipped", "there is no TrainingClusterStack with a cluster yet")
