from typing import Any

import pytest

from tests.constructs.account.conftest import Clock, Kubernetes
from tests.constructs.account.lustre_answers import FILE_SYSTEM, answer_lustre
from tests.constructs.account.stubbed_account import ARN, StubbedAccount
from training_cluster.account.deployed_stack import DeployedStack, find_stack
from training_cluster.account.teardown import DeletionError, delete_stack, find_blockers

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


def event(number: int, state: str, logical: str, why: str = "", physical: str = "id") -> dict[str, Any]:
    return {
        "StackId": ARN,
        "EventId": str(number),
        "StackName": "TrainingClusterStack",
        "Timestamp": number,
        "ResourceStatus": state,
        "ResourceType": "AWS::EKS::Nodegroup",
        "LogicalResourceId": logical,
        "PhysicalResourceId": physical,
        **({"ResourceStatusReason": why} if why else {}),
    }


def answer_events(account: StubbedAccount, *newest_first: dict[str, Any]) -> None:
    account.answer("cloudformation", "describe_stack_events", {"StackEvents": list(newest_first)}, {"StackName": ARN})


def answer_state(account: StubbedAccount, state: str) -> None:
    stack = {"StackName": "TrainingClusterStack", "CreationTime": 0, "StackStatus": state}
    account.answer("cloudformation", "describe_stacks", {"Stacks": [stack]}, {"StackName": ARN})


CREATED = event(1, "CREATE_COMPLETE", "Nodes")
BEGUN = event(2, "DELETE_IN_PROGRESS", "Nodes")


def test_each_event_of_the_deletion_is_shown_once(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {}, {"StackName": ARN})
    answer_events(account, BEGUN, CREATED)
    answer_state(account, "DELETE_IN_PROGRESS")
    answer_events(account, event(4, "DELETE_COMPLETE", "Vpc"), event(3, "DELETE_COMPLETE", "Nodes"), BEGUN, CREATED)
    answer_state(account, "DELETE_COMPLETE")
    lines: list[str] = []
    delete_stack(account, stack, lines.append)
    assert lines == [
        "DELETE_IN_PROGRESS AWS::EKS::Nodegroup Nodes",
        "DELETE_COMPLETE AWS::EKS::Nodegroup Nodes",
        "DELETE_COMPLETE AWS::EKS::Nodegroup Vpc",
    ]
    assert clock.pauses == [5]
    account.all_asked()


def test_a_resource_that_cannot_be_deleted_is_named(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account)
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {})
    whole = event(4, "DELETE_FAILED", "TrainingClusterStack", "Nodes", ARN)
    answer_events(account, whole, event(3, "DELETE_FAILED", "Nodes", "in\nuse"), CREATED)
    answer_state(account, "DELETE_FAILED")
    with pytest.raises(DeletionError, match=r"^DELETE_FAILED AWS::EKS::Nodegroup Nodes: in use$"):
        delete_stack(account, stack, lambda line: None)


def test_a_deletion_that_has_begun_is_followed(account: StubbedAccount, clock: Clock) -> None:
    stack = deployed(account, status="DELETE_IN_PROGRESS")
    answer_events(account, CREATED)
    answer_events(account, BEGUN, CREATED)
    answer_state(account, "DELETE_COMPLETE")
    lines: list[str] = []
    delete_stack(account, stack, lines.append)
    assert lines == ["DELETE_IN_PROGRESS AWS::EKS::Nodegroup Nodes"]
    account.all_asked()
