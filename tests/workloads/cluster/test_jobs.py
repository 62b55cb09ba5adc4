import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program, condition
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster
from training_workloads.cluster import polling

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

JOB = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/digits"
POLICY = "/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/digits"
PODS = "/api/v1/namespaces/team/pods"
ELASTIC = ("horovodrun", "-np", "16", "--min-np", "8", "--max-np", "32", "train")


def policy(job: str) -> dict[str, Any]:
    selector = {"podSelector": {"matchLabels": {"training.kubeflow.org/job-name": job}}}
    metadata = {"name": "digits"}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": selector}


def test_an_elastic_job_is_scaled(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Running", command=ELASTIC))
    result = program("scale", "digits", "4")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "'digits' will have 4 workers instead of 2; the launcher reads the new list of hosts when the kubelet has "
        "updated it, after about a minute\n"
    )
    assert cluster.objects[JOB]["spec"]["mpiReplicaSpecs"]["Worker"] == {"replicas": 4}
    # Only that was changed.
    assert cluster.objects[JOB]["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    assert program("scale", "digits", "4").out == "'digits' has 4 workers already\n"
    as_json = json.loads(program("scale", "digits", "1", "--json").out)
    assert as_json == {"name": "digits", "namespace": "team", "before": 4, "workers": 1}


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
    message = "error: 'NAME' is 'stage', but that is a Job, which has no workers; give the name of an MPIJob\n"
    assert (result.code, result.err) == (2, message)


def test_cancel_deletes_the_job_and_its_policy_and_waits_for_the_pods(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(policy("digits"))
    cluster.add(pod("digits-worker-0", "worker"))
    cluster.before_get[PODS] = [lambda: None, lambda: None, lambda: None, lambda: cluster.remove_pods("digits")]
    result = program("cancel", "digits")
    assert (result.code, result.err) == (0, "")
    assert result.out == "deleted MPIJob 'digits'\ndeleted NetworkPolicy 'digits'\n"
    assert [path for path in cluster.objects if "digits" in path] == []
    assert cluster.before_get[PODS] == []


def test_cancel_deletes_every_job_that_has_ended(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    for name, state in (("one", "Succeeded"), ("two", "Running"), ("three", "Failed")):
        cluster.add(mpi_job(name, state))
    result = program("cancel", "--finished")
    assert (result.code, result.out) == (0, "deleted MPIJob 'one'\ndeleted MPIJob 'three'\n")
    assert [path.rpartition("/")[2] for path in cluster.objects if "/mpijobs/" in path] == ["two"]
    assert program("cancel", "--finished").out == ""


def test_cancel_needs_a_name(program: Program, cluster: FakeCluster) -> None:
    result = program("cancel")
    assert (result.code, result.err) == (
        2,
        "error: 'NAME' is missing; give names of jobs, or '--finished' for all that have ended\n",
    )


def test_cancel_keeps_the_policy_of_other_pods(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(policy("other"))
    assert json.loads(program("cancel", "digits", "--json").out) == ["MPIJob 'digits'"]
    assert POLICY in cluster.objects


def test_cancel_of_an_unknown_name_deletes_nothing(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Running"))
    result = program("cancel", "digits", "digit")
    assert result.code == 2
    assert result.err.startswith("error: 'NAME' is 'digit', but namespace 'team' has no such job; did you mean digits?")
    assert JOB in cluster.objects


def test_cancel_reports_pods_that_do_not_end(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training_workloads.cli.cluster_commands._PODS_END_SECONDS", 0.2)
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(pod("digits-worker-0", "worker"))
    result = program("cancel", "digits")
    assert (result.code, result.out) == (4, "deleted MPIJob 'digits'\n")
    assert result.err == "error: pods of 'digits' may still be ending: 'kubectl get pods' shows them\n"


@pytest.mark.parametrize(("end", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_wait_ends_as_the_job_does(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, end: str, code: int
) -> None:
    job = cluster.add(mpi_job("digits", "Running"))
    finish = lambda: job["status"]["conditions"].append(condition(end, 30))  # noqa: E731
    cluster.before_get[JOB] = [lambda: None, lambda: None, finish]
    result = program("wait", "digits")
    assert (result.code, result.out) == (code, "")
    assert result.err == f"job 'digits': {end} after 1m20s (the operator says {end})\n"
    assert json.loads(program("wait", "digits", "--json").out)["state"] == end


def test_a_job_that_is_deleted_or_replaced_did_not_succeed(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.before_get[JOB] = [lambda: None, lambda: cluster.objects.__delitem__(JOB)]
    gone = (1, "job 'digits' was deleted before its end\n")
    result = program("wait", "digits")
    assert (result.code, result.err) == gone
    cluster.add(mpi_job("digits", "Running"))
    cluster.before_get[JOB] = [lambda: None, lambda: cluster.add(mpi_job("digits", "Succeeded")) and None]
    result = program("wait", "digits")
    assert (result.code, result.err) == gone


def test_wait_ends_at_its_deadline(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Running"))
    result = program("wait", "digits", "--timeout=1s")
    assert result.code == 4
    assert result.err == (
        "error: 'digits' has not ended within 1s; job 'digits' still runs on the cluster; 'trainctl cancel "
        "digits' ends it\n"
    )


def test_a_cluster_that_is_unreachable_for_too_long(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "PATIENCE_SECONDS", 0.2)
    cluster.add(mpi_job("digits", "Running"))
    cluster.failures.append(Failure("close", JOB, skipped=1))
    result = program("wait", "digits")
    assert result.code == 3
    first, last = result.err.splitlines()
    assert first.startswith("note: the connection to http://127.0.0.1:")
    assert last.startswith("error: the connection to http://127.0.0.1:")
    # Rejected credentials are not transient.
    cluster.failures = [Failure(401, JOB, skipped=1)]
    assert program("wait", "digits").err.startswith("error: the cluster rejects your credentials")
