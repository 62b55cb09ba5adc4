import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.workloads.aws.stubbed_session import StubbedSession
from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import FakeCluster
from training_workloads.cluster.ended_nodes import EndedNode, NodesOfJob, ended_nodes

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

INSTANCE = "i-0123456789abcdef0"
GROUP = "eks-gpu-1"
NODES = NodesOfJob(
    region="us-west-2",
    instances=(INSTANCE,),
    has_workers=True,
    since=datetime(2026, 11, 21, 10, tzinfo=UTC),
    until=datetime(2026, 11, 21, 12, tzinfo=UTC),
)

# The causes are those of the issues that the rules quote.
PARTIAL_START = (
    "At 2026-11-21T10:34:54Z a user request explicitly set group desired capacity changing the desired capacity from 6 "
    "to 5.  At 2026-11-21T10:35:09Z an instance was taken out of service in response to a difference between desired "
    "and actual capacity, shrinking the capacity from 6 to 5."
)
BALANCE = (
    "At 2026-11-21T10:14:28Z instances were launched to balance instances in zones  us-west-2a with other zones "
    "resulting in more than desired number of instances in the group.  At 2026-11-21T10:14:57Z an instance was taken "
    "out of service in response to a difference between desired and actual capacity, shrinking the capacity from 3 to "
    "2."
)
SIZES = (
    "At 2026-11-21T10:21:34Z a user request update of AutoScalingGroup constraints to min: 0, max: 8, desired: 0 "
    "changing the desired capacity from 2 to 0.  At 2026-11-21T10:21:45Z an instance was taken out of service in "
    "response to a difference between desired and actual capacity, shrinking the capacity from 2 to 0."
)
ONE_NODE = (
    f"At 2026-11-21T10:06:36Z instance {INSTANCE} was taken out of service in response to a user request, shrinking "
    "the capacity from 3 to 2."
)
STOPPED = (
    "At 2026-11-21T10:06:36Z an instance was taken out of service in response to an EC2 health check indicating it has "
    "been terminated or stopped."
)


def activity(cause: str, minute: int, description: str = f"Terminating EC2 instance: {INSTANCE}") -> dict[str, Any]:
    return {
        "ActivityId": str(minute),
        "AutoScalingGroupName": GROUP,
        "Description": description,
        "Cause": cause,
        "StartTime": datetime(2026, 11, 21, 10 + minute // 60, minute % 60, tzinfo=UTC),
        "StatusCode": "Successful",
    }


class Account(StubbedSession):
    """An account with Auto Scaling groups."""

    def answer_instances(self, *groups: str) -> None:
        found = [
            {
                "InstanceId": INSTANCE,
                "AutoScalingGroupName": group,
                "AvailabilityZone": "us-west-2a",
                "LifecycleState": "InService",
                "HealthStatus": "HEALTHY",
                "ProtectedFromScaleIn": False,
            }
            for group in groups
        ]
        self.answer("autoscaling", "describe_auto_scaling_instances", {"AutoScalingInstances": found})

    def answer_activities(self, group: str, *newest_first: dict[str, Any]) -> None:
        expected = {"AutoScalingGroupName": group}
        self.answer("autoscaling", "describe_scaling_activities", {"Activities": list(newest_first)}, expected)

    def answer_groups(self, expected: dict[str, Any], *groups: str) -> None:
        tags = [{"Key": "eks:cluster-name", "Value": "training"}]
        found = [
            {
                "AutoScalingGroupName": group,
                "MinSize": 0,
                "MaxSize": 2,
                "DesiredCapacity": 0,
                "DefaultCooldown": 300,
                "AvailabilityZones": ["us-west-2a"],
                "HealthCheckType": "EC2",
                "CreatedTime": 0,
                "Tags": tags,
            }
            for group in groups
        ]
        self.answer("autoscaling", "describe_auto_scaling_groups", {"AutoScalingGroups": found}, expected)


@pytest.fixture
def account() -> Account:
    return Account()


def read(account: Account, nodes: NodesOfJob = NODES) -> tuple[EndedNode, ...]:
    found = ended_nodes(account.client("autoscaling"), nodes)
    account.all_asked()
    return found


@pytest.mark.parametrize(
    ("cause", "who"),
    [
        (
            PARTIAL_START,
            "a lower desired size of the group: of the autoscaler, whose start of other nodes succeeded in",
        ),
        (BALANCE, "EC2 Auto Scaling, which balanced the zones of the group (AZRebalance)"),
        (SIZES, "a change of the sizes of the node group, which a deployment sends together with desired_size"),
        (ONE_NODE, "the autoscaler (an idle node), EKS (a repair, an update), or a person"),
        (
            STOPPED,
            "EC2, where the instance stopped or failed: Spot, the end of a Capacity Block, hardware, or a person",
        ),
        (
            "At 2026-11-21T10:06:36Z an instance was taken out of service in response to a Spot interruption.",
            "EC2, whi",
        ),
        ("words that no rule knows", "EC2 Auto Scaling"),
    ],
)
def test_the_cause_says_who_ended_a_node(cause: str, who: str, account: Account) -> None:
    account.answer_instances(GROUP)
    account.answer_activities(GROUP, activity(cause, 35))
    (node,) = read(account)
    assert node.who.startswith(who)
    assert (node.instance, node.group, node.cause) == (INSTANCE, GROUP, " ".join(cause.split()))


def test_only_terminations_while_the_job_ran_are_its(account: Account) -> None:
    account.answer_instances(GROUP)
    started = activity("a start", 40, "Launching a new EC2 instance: i-0fedcba9876543210")
    account.answer_activities(
        GROUP, activity(ONE_NODE, 121), started, activity(ONE_NODE, 30), activity(ONE_NODE, 20), activity(ONE_NODE, -1)
    )
    assert [each.at.minute for each in read(account)] == [20, 30]


def test_where_no_worker_has_a_node_all_groups_of_the_cluster_are_read(account: Account) -> None:
    account.answer_instances("eks-system-1")
    account.answer_groups({"AutoScalingGroupNames": ["eks-system-1"]}, "eks-system-1")
    tagged = {"Filters": [{"Name": "tag:eks:cluster-name", "Values": ["training"]}]}
    account.answer_groups(tagged, GROUP, "eks-system-1")
    account.answer_activities(GROUP, activity(PARTIAL_START, 35))
    account.answer_activities("eks-system-1")
    nodes = NodesOfJob(
        region="us-west-2", instances=(INSTANCE,), has_workers=False, since=NODES.since, until=NODES.until
    )
    assert [each.group for each in read(account, nodes)] == [GROUP]


def node(name: str) -> dict[str, Any]:
    labels = {"topology.kubernetes.io/region": "us-west-2"}
    spec = {"providerID": f"aws:///us-west-2a/{INSTANCE}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec}


@pytest.fixture
def damaged(cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> FakeCluster:
    """A job that started at 10:00, and whose second worker was made again at 10:40."""
    cluster.kinds["v1"] = [*cluster.kinds["v1"], ("nodes", "Node", False)]
    cluster.add(node("node-a"), namespace="")
    cluster.add(mpi_job("digits", "Created", "Running"))
    cluster.add(pod("digits-worker-0", "worker"))
    again = pod("digits-worker-1", "worker")
    again["metadata"]["creationTimestamp"] = "2026-11-21T10:40:00Z"
    cluster.add(again)
    return cluster


@pytest.fixture
def used(account: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """The account of the command."""
    monkeypatch.setattr("training_workloads.aws.session.AwsSession", lambda: account)
    return account


@pytest.mark.usefixtures("damaged")
def test_status_says_who_ended_a_node(used: Account, program: Program) -> None:
    used.answer_instances(GROUP)
    used.answer_activities(GROUP, activity(PARTIAL_START, 35))
    result = program("status", "digits")
    assert result.code == 0
    assert (
        f" ago, node {INSTANCE} of {GROUP} was ended by a lower desired size of the group: of the autoscaler, whose "
        "start of other nodes succeeded in part (kubernetes/autoscaler#10147), or of a person\n"
    ) in result.out
    used.all_asked()


@pytest.mark.usefixtures("damaged")
def test_the_document_has_the_cause(used: Account, program: Program) -> None:
    used.answer_instances(GROUP)
    used.answer_activities(GROUP, activity(BALANCE, 35))
    (ended,) = json.loads(program("status", "digits", "--json").out)["ended_nodes"]
    assert (ended["instance"], ended["at"]) == (INSTANCE, "2026-11-21T10:35:00+00:00")
    assert "to balance instances in zones us-west-2a" in ended["cause"]


@pytest.mark.usefixtures("damaged")
def test_without_the_account_it_is_one_note(used: Account, program: Program) -> None:
    used.reject("autoscaling", "describe_auto_scaling_instances", "AccessDenied")
    result = program("status", "digits")
    assert result.code == 0
    assert result.err == (
        "note: whether a node of this job was ended, and by whom, is not known: your role may not "
        "autoscaling:DescribeAutoScalingInstances; allow the action autoscaling:DescribeAutoScalingInstances\n"
    )


def test_a_job_that_lost_no_pod_asks_nothing(
    used: Account, program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Created", "Running"))
    for number in range(2):
        cluster.add(pod(f"digits-worker-{number}", "worker"))
    result = program("status", "digits")
    assert (result.code, result.err) == (0, "")


@pytest.mark.usefixtures("damaged")
def test_who_may_not_read_nodes_gets_the_rest(used: Account, program: Program, cluster: FakeCluster) -> None:
    cluster.kinds["v1"] = [each for each in cluster.kinds["v1"] if each[0] != "nodes"]
    result = program("status", "digits")
    assert (result.code, result.err) == (0, "")
    assert "digits-worker-1" in result.out
