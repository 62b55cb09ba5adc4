import json
from collections.abc import Callable
from typing import Any, Self

import pytest

from tests.workloads.cluster.conftest import Program, condition, indexed
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

JOB = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/digits"
CONFIG = "/api/v1/namespaces/team/configmaps/digits-config"
PODS = "/api/v1/namespaces/team/pods"
LAUNCHER = f"{PODS}/digits-launcher-a"
ELASTIC = ("horovodrun", "-np", "16", "--min-np", "8", "--max-np", "32", "train")
UNLIMITED = ("horovodrun", "-np", "16", "--min-np", "8", "train")


class Operator:
    """The operator and the kubelets, one step before each question of the command about the job."""

    def __init__(self, cluster: FakeCluster, pod: MakePod) -> None:
        self.cluster = cluster
        self.pod = pod
        self.cluster.add(pod("digits-launcher-a", "launcher"))
        for number in range(2):
            self.starts(number)
        self.lists(0, 1)

    def does(self, *steps: Callable[[], object]) -> None:
        # Before the first question the user has changed nothing.
        self.cluster.before_get[JOB] = [lambda: None, *steps]

    def starts(self, number: int, *, ready: bool = True) -> Self:
        status = {} if ready else {"conditions": [{"type": "Ready", "status": "False"}]}
        self.cluster.add(self.pod(f"digits-worker-{number}", "worker", **status))
        return self

    def deletes(self, number: int) -> None:
        self.cluster.objects[f"{PODS}/digits-worker-{number}"]["metadata"]["deletionTimestamp"] = "2026-11-21T10:09:00Z"

    def ends(self, number: int) -> Self:
        del self.cluster.objects[f"{PODS}/digits-worker-{number}"]
        return self

    def lists(self, *numbers: int) -> Self:
        hosts = "".join(f"echo digits-worker-{number}.digits.team.svc\n" for number in numbers)
        data = {"hostfile": "digits-worker-0.digits.team.svc slots=8\n", "discover_hosts.sh": f"#!/bin/sh\n{hosts}"}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "digits-config"}, "data": data}
        self.cluster.add(document)
        return self

    @property
    def touches(self) -> list[str]:
        """The changes of the launcher's pod."""
        return [each for each in self.cluster.requests if each.startswith(f"PATCH {LAUNCHER}")]


@pytest.fixture
def operator(cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> Operator:
    cluster.add(mpi_job("digits", "Running", command=ELASTIC))
    return Operator(cluster, pod)


def test_more_workers_are_waited_for(program: Program, cluster: FakeCluster, operator: Operator) -> None:
    operator.does(
        lambda: operator.starts(2, ready=False),
        lambda: operator.starts(3, ready=False).lists(0, 1, 2),
        lambda: operator.lists(0, 1, 2, 3),
        lambda: operator.starts(2),
        lambda: operator.starts(3),
    )
    result = program("scale", "digits", "4")
    assert (result.code, result.out.partition(", after ")[0]) == (0, "'digits' has 4 ready workers instead of 2")
    assert result.err == "note: waiting for 4 workers, 2 ready\nnote: waiting for 4 workers, 3 ready\n"
    assert cluster.objects[JOB]["spec"]["mpiReplicaSpecs"]["Worker"] == {"replicas": 4}
    # Only that was changed.
    assert cluster.objects[JOB]["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    assert program("scale", "digits", "4").out == "'digits' has 4 workers already\n"


def test_the_launchers_pod_changes_after_each_list_of_hosts(
    program: Program, cluster: FakeCluster, operator: Operator
) -> None:
    operator.does(lambda: None, lambda: operator.starts(2).lists(0, 1, 2))
    assert program("scale", "digits", "3").code == 0
    requests = [each.partition("?")[0] for each in cluster.requests]
    last_read = len(requests) - requests[::-1].index(f"GET {CONFIG}")
    # Twice: the kubelet may learn of the ConfigMap a moment after the first.
    assert len(operator.touches) == 3
    assert requests.index(f"PATCH {JOB}") < requests.index(f"PATCH {LAUNCHER}")
    assert requests[last_read:].count(f"PATCH {LAUNCHER}") == 1
    assert list(cluster.objects[LAUNCHER]["metadata"]["annotations"]) == ["trainctl/hosts-changed"]


def test_fewer_workers_are_waited_for(program: Program, cluster: FakeCluster, operator: Operator) -> None:
    operator.does(lambda: operator.deletes(1), lambda: operator.ends(1).lists(0))
    result = program("scale", "digits", "1", "--json")
    assert json.loads(result.out) == {"name": "digits", "namespace": "team", "before": 2, "workers": 1}
    assert result.err == (
        "note: waiting for 1 worker, 1 ready, 1 more to end\nnote: waiting for the launcher's list of hosts\n"
    )


def test_an_ending_worker_is_none_of_the_new_ones(program: Program, cluster: FakeCluster, operator: Operator) -> None:
    operator.starts(2)
    operator.deletes(2)
    operator.lists(0, 1, 2)
    ended = lambda: operator.ends(2).lists(0, 1)  # noqa: E731
    operator.does(lambda: None, lambda: None, ended, lambda: operator.starts(2))
    cluster.before_get[CONFIG] = [*[lambda: None] * 5, lambda: operator.lists(0, 1, 2)]
    result = program("scale", "digits", "3")
    notes = ["note: waiting for 3 workers, 2 ready", "note: waiting for the launcher's list of hosts"]
    assert (result.code, result.err.splitlines()) == (0, notes)


def test_a_launcher_without_a_pod_is_not_waited_for(program: Program, cluster: FakeCluster, operator: Operator) -> None:
    del cluster.objects[LAUNCHER]
    operator.does(lambda: operator.starts(2).lists(0, 1, 2))
    result = program("scale", "digits", "3")
    assert (result.code, operator.touches) == (0, [])


@pytest.mark.parametrize(
    ("path", "method", "message", "event"),
    [
        ("/pods/", "PATCH", 'User "u" cannot patch resource "pods"', "you may not patch pods in namespace 'team' ({})"),
        (
            "/configmaps/",
            "GET",
            'User "u" cannot get resource "configmaps"',
            "you may not get configmaps in namespace 'team' ({})",
        ),
        (
            "/pods/",
            "PATCH",
            'admission webhook "p" denied the request: no annotations',
            "the cluster rejects the request to patch pods in namespace 'team': {}",
        ),
    ],
)
def test_without_the_permission_the_kubelets_sync_remains(
    program: Program, cluster: FakeCluster, operator: Operator, path: str, method: str, message: str, event: str
) -> None:
    cluster.failures.append(Failure(403, path, method, message=message))
    operator.does(lambda: operator.starts(2))
    result = program("scale", "digits", "3")
    assert (result.code, result.out.partition(", after ")[0]) == (0, "'digits' has 3 ready workers instead of 2")
    assert result.err == (
        f"note: {event.format(message)}; so the launcher reads the new list of hosts at the kubelet's next sync, after "
        "60 to 90 seconds\n"
    )


@pytest.mark.parametrize("code", [409, 500])
def test_only_a_change_of_the_launchers_pod_that_succeeds_counts(
    program: Program, cluster: FakeCluster, operator: Operator, code: int
) -> None:
    failure = Failure(code, "/pods/", "PATCH", times=5)
    cluster.failures.append(failure)
    operator.does(lambda: operator.starts(2).lists(0, 1, 2))
    result = program("scale", "digits", "3")
    assert (result.code, result.out.partition(", after ")[0]) == (0, "'digits' has 3 ready workers instead of 2")
    assert (failure.times, len(operator.touches)) == (0, 5 + 2)
    assert "trainctl/hosts-changed" in cluster.objects[LAUNCHER]["metadata"]["annotations"]


def test_a_launcher_that_ends_meanwhile_is_not_changed(
    program: Program, cluster: FakeCluster, operator: Operator
) -> None:
    operator.does(lambda: operator.starts(2).lists(0, 1, 2))
    # After the pods are listed, and before the change.
    cluster.before_get[CONFIG] = [lambda: cluster.objects.pop(LAUNCHER)]
    assert program("scale", "digits", "3").code == 0
    assert (len(operator.touches), LAUNCHER in cluster.objects) == (1, False)


def test_a_node_that_does_not_come_ends_the_waiting(program: Program, cluster: FakeCluster, operator: Operator) -> None:
    result = program("scale", "digits", "4", "--timeout=0s")
    assert (result.code, result.out) == (4, "")
    assert result.err.splitlines()[-1] == (
        "error: 'digits' does not have 4 ready workers within 0s; the cluster continues to change 'digits' to 4 "
        "workers; 'trainctl status digits' shows why"
    )
    assert cluster.objects[JOB]["spec"]["mpiReplicaSpecs"]["Worker"] == {"replicas": 4}


def test_a_job_that_ends_meanwhile(program: Program, cluster: FakeCluster, operator: Operator) -> None:
    operator.does(lambda: cluster.objects[JOB]["status"]["conditions"].append(condition("Failed", 30)))
    result = program("scale", "digits", "3")
    assert (result.code, result.err) == (1, "job 'digits': Failed after 1m20s (the operator says Failed)\n")
    cluster.objects[JOB]["status"]["conditions"].pop()
    operator.does(lambda: cluster.objects.__delitem__(JOB))
    result = program("scale", "digits", "4")
    assert (result.code, result.err) == (1, "job 'digits' was deleted before its end\n")


def test_a_suspended_job_gets_its_workers_later(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Running", "Suspended", command=ELASTIC))
    result = program("scale", "digits", "3")
    assert (result.code, result.out) == (
        0,
        "'digits' will have 3 workers instead of 2 when it continues; it is suspended\n",
    )


@pytest.mark.parametrize(
    ("command", "state", "workers", "message"),
    [
        (
            ELASTIC,
            "Running",
            "5",
            "'WORKERS' is 5, but 'digits' runs with 1 to 4 workers; give a number within these limits",
        ),
        (
            ELASTIC,
            "Running",
            "6",
            "'WORKERS' is 6, but 'digits' runs with 1 to 4 workers; give a number within these limits",
        ),
        (
            ("horovodrun", "--min-np", "16"),
            "Running",
            "1",
            "'WORKERS' is 1, but 'digits' runs with 2 or more workers; give a number within these limits",
        ),
        (
            UNLIMITED,
            "Running",
            "50000000",
            "'WORKERS' is 50000000, but Kubernetes supports 5000 nodes, and the MPI operator keeps all workers in "
            "memory; give 5000 or less",
        ),
        (
            ELASTIC,
            "Failed",
            "3",
            "'NAME' is 'digits', but that job is Failed; submit it again with another number of workers",
        ),
        (
            ("mpirun", "-np", "16"),
            "Running",
            "3",
            "'NAME' is 'digits', but its command starts 16 ranks, no more and no fewer; render it with '--workers' and "
            "submit it again, or make it an elastic job (horovodrun --min-np)",
        ),
    ],
)
def test_rejects_a_number_of_workers_that_the_job_cannot_have(
    program: Program,
    cluster: FakeCluster,
    mpi_job: MpiJob,
    command: tuple[str, ...],
    state: str,
    workers: str,
    message: str,
) -> None:
    cluster.add(mpi_job("digits", state, command=command))
    result = program("scale", "digits", workers)
    assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")
    assert cluster.objects[JOB]["spec"]["mpiReplicaSpecs"]["Worker"] == {"replicas": 2}


def test_a_queued_job_is_not_scaled(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    job = mpi_job("digits", "Running", command=ELASTIC)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research"}
    cluster.add(job)
    result = program("scale", "digits", "3")
    assert (result.code, result.err) == (
        2,
        "error: 'NAME' is 'digits', but it is in the queue 'research', and Kueue would end all of its pods to admit "
        "another size; cancel it, render it with other '--workers' and submit it again\n",
    )
    assert cluster.objects[JOB]["spec"]["mpiReplicaSpecs"]["Worker"] == {"replicas": 2}


def test_a_batch_job_is_not_scaled(program: Program, cluster: FakeCluster) -> None:
    cluster.add({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "stage"}, "spec": {}})
    result = program("scale", "stage", "3")
    message = (
        "error: 'NAME' is 'stage', but that is a Job, and its pods are as many as they were; give the name of an "
        "elastic job: an MPIJob with horovodrun, or a Job with torchrun --nnodes=MIN:MAX\n"
    )
    assert (result.code, result.err) == (2, message)


TORCH_JOB = "/apis/batch/v1/namespaces/team/jobs/digits"


def test_a_job_of_torchrun_is_scaled_by_both_numbers_at_once(
    program: Program, cluster: FakeCluster, torch_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(torch_job())
    # The pod that was lost is kept beside the one that follows it.
    cluster.add(indexed(pod("digits-1-aaaaa", "worker", phase="Failed"), 1))
    for name, number in (("digits-0-bbbbb", 0), ("digits-1-ccccc", 1)):
        cluster.add(indexed(pod(name, "worker", second=1), number))

    def starts() -> None:
        cluster.add(indexed(pod("digits-2-ddddd", "worker", second=2), 2))

    cluster.before_get[TORCH_JOB] = [lambda: None, lambda: None, starts]
    result = program("scale", "digits", "3")
    assert (result.code, result.out.partition(", after ")[0]) == (0, "'digits' has 3 ready workers instead of 2")
    assert result.err == "note: waiting for 3 workers, 2 ready\n"
    spec = cluster.objects[TORCH_JOB]["spec"]
    assert (spec["completions"], spec["parallelism"]) == (3, 3)
    # One request: the API server rejects a change of one number alone.
    assert sum(each.startswith(f"PATCH {TORCH_JOB}") for each in cluster.requests) == 1


@pytest.mark.parametrize(
    ("nodes", "workers", "message"),
    [
        ("1:4", "5", "'WORKERS' is 5, but 'digits' runs with 1 to 4 workers; give a number within these limits"),
        ("2", "3", "'NAME' is 'digits', but that is a Job, and its pods are as many as they were; give the name of"),
    ],
)
def test_a_job_of_torchrun_keeps_to_its_nodes(
    program: Program, cluster: FakeCluster, torch_job: MpiJob, nodes: str, workers: str, message: str
) -> None:
    cluster.add(torch_job(nodes=nodes))
    result = program("scale", "digits", workers)
    assert (result.code, result.err.startswith(f"error: {message}")) == (2, True), result.err
    assert cluster.objects[TORCH_JOB]["spec"]["completions"] == 2


def test_a_job_without_equal_numbers_is_not_elastic(program: Program, cluster: FakeCluster, torch_job: MpiJob) -> None:
    cluster.add(torch_job(completions=4))
    assert program("scale", "digits", "3").code == 2
