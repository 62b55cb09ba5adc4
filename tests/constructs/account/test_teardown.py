from typing import Any

import pytest

from tests.constructs.account.conftest import Kubernetes
from tests.constructs.account.lustre_answers import FILE_SYSTEM, answer_lustre
from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.account.deployed_stack import DeployedStack, find_stack
from training_cluster.account.teardown import find_blockers

RESOURCES = {"Cluster": ("AWS::EKS::Cluster", "training"), "Lustre": ("AWS::FSx::FileSystem", FILE_SYSTEM)}


@pytest.fixture
def account() -> StubbedAccount:
    return StubbedAccount()


def deployed(account: StubbedAccount, resources: Any = RESOURCES, status: str = "CREATE_COMPLETE") -> DeployedStack:
    account.answer_stack(resources, status=status)
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    return stack


def test_a_cluster_without_jobs_whose_results_are_in_the_bucket_may_go(
    kubernetes: Kubernetes, account: StubbedAccount
) -> None:
    stack = deployed(account)
    kubernetes.known_to(account)
    kubernetes.add_job("ended", ended=True)
    answer_lustre(account)
    assert find_blockers(account, stack, None) == []
    account.all_asked()


def test_a_job_that_has_not_ended_forbids_it(kubernetes: Kubernetes, account: StubbedAccount) -> None:
    stack = deployed(account)
    kubernetes.known_to(account)
    kubernetes.add_job("stage")
    answer_lustre(account)
    (blocker,) = find_blockers(account, stack, None)
    assert blocker == (
        "1 job (stage in team) did not end: 'trainctl wait <name>', or 'trainctl cancel <name> -n <namespace>'"
    )


def test_many_jobs_are_counted(kubernetes: Kubernetes, account: StubbedAccount) -> None:
    stack = deployed(account, {"Cluster": RESOURCES["Cluster"]})
    kubernetes.known_to(account)
    for number in range(7):
        kubernetes.add_job(f"job-{number}")
    (blocker,) = find_blockers(account, stack, None)
    assert blocker.startswith("7 jobs (job-0 in team, ")
    assert ", job-4 in team and 2 more) did not end" in blocker


def test_a_pod_that_mounts_the_file_system_forbids_it(kubernetes: Kubernetes, account: StubbedAccount) -> None:
    stack = deployed(account, {"Cluster": RESOURCES["Cluster"]})
    kubernetes.known_to(account)
    mounts = {"volumes": [{"name": "fsx", "persistentVolumeClaim": {"claimName": "fsx"}}]}
    kubernetes.add("Pod", "tensorboard-1", spec=mounts, status={"phase": "Running"})
    kubernetes.add("Pod", "ended", spec=mounts, status={"phase": "Succeeded"})
    kubernetes.add("Pod", "plain", spec={"volumes": [{"name": "a", "emptyDir": {}}]}, status={"phase": "Running"})
    (blocker,) = find_blockers(account, stack, None)
    assert "here by 1 pod (team/tensorboard-1): delete what created them" in blocker


def test_exports_that_are_behind_forbid_it(kubernetes: Kubernetes, account: StubbedAccount) -> None:
    stack = deployed(account)
    kubernetes.known_to(account)
    answer_lustre(account, lag=90)
    (blocker,) = find_blockers(account, stack, None)
    assert blocker.startswith(f"changes of {FILE_SYSTEM} may not be in the bucket: the oldest change waits")


def test_exports_of_which_nothing_is_known_forbid_it(kubernetes: Kubernetes, account: StubbedAccount) -> None:
    stack = deployed(account)
    kubernetes.known_to(account)
    answer_lustre(account, lag=None)
    (blocker,) = find_blockers(account, stack, None)
    assert "CloudWatch has no value of how long changes wait for their export; look into the bucket" in blocker


def test_what_cannot_be_read_forbids_it(kubernetes: Kubernetes, account: StubbedAccount) -> None:
    stack = deployed(account)
    account.forbid("eks", "describe_cluster")
    account.forbid("fsx", "describe_file_systems")
    jobs, exports = find_blockers(account, stack, None)
    assert jobs.startswith("whether jobs run cannot be read: your role may not eks:DescribeCluster; allow the action")
    assert exports.endswith(
        "cannot be read: your role may not fsx:DescribeFileSystems; allow the action fsx:DescribeFileSystems"
    )


def test_the_jobs_of_another_cluster_say_nothing(kubernetes: Kubernetes, account: StubbedAccount) -> None:
    stack = deployed(account, {"Cluster": RESOURCES["Cluster"]})
    kubernetes.known_to(account, endpoint="https://another")
    (blocker,) = find_blockers(account, stack, None)
    assert blocker.startswith("whether jobs run cannot be read: the kubeconfig's context is of http://127.0.0.1")
    assert "'cdk destroy TrainingClusterStack' does not ask" in blocker


def test_after_a_deletion_that_failed_there_may_be_no_cluster(account: StubbedAccount) -> None:
    assert find_blockers(account, deployed(account, {}, "DELETE_FAILED"), None) == []


def test_an_update_must_end_first(account: StubbedAccount) -> None:
    stack = deployed(account, status="UPDATE_IN_PROGRESS")
    (blocker,) = find_blockers(account, stack, None)
    assert blocker == "TrainingClusterStack is UPDATE_IN_PROGRESS: wait until it has ended"


def test_a_protected_stack_and_cluster_stay_and_the_way_to_unprotect_them_is_named(
    kubernetes: Kubernetes, account: StubbedAccount
) -> None:
    account.answer_stack({"Cluster": RESOURCES["Cluster"]}, protected=True)
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    kubernetes.known_to(account, protected=True)
    assert find_blockers(account, stack, None) == [
        "CloudFormation protects TrainingClusterStack from deletion: set 'deletion_protection: false' in cluster.yaml "
        "and deploy that, or run 'aws cloudformation update-termination-protection --no-enable-termination-protection "
        "--stack-name TrainingClusterStack --region us-west-2'",
        "EKS protects training from deletion: set 'deletion_protection: false' in cluster.yaml and deploy that, or run "
        "'aws eks update-cluster-config --name training --no-deletion-protection --region us-west-2'",
    ]
