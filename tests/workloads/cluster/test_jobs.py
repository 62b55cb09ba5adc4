import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program, condition, indexed
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster, Log
from training_workloads.cli import cluster_commands

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

JOB = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/digits"
POLICY = "/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/digits"
PODS = "/api/v1/namespaces/team/pods"


def policy(job: str) -> dict[str, Any]:
    selector = {"podSelector": {"matchLabels": {"training.kubeflow.org/job-name": job}}}
    metadata = {"name": "digits"}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": selector}


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


def test_cancel_deletes_the_store_and_the_services_of_a_job_of_torchrun(
    program: Program, cluster: FakeCluster, torch_job: MpiJob
) -> None:
    own = {"training.kubeflow.org/job-name": "digits"}
    cluster.add(torch_job())
    cluster.add(policy("digits"))
    selector = {"selector": {"matchLabels": own}}
    store = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "digits-store"}, "spec": selector}
    cluster.add(store)
    # One of the two Services selects other pods.
    for name, labels in (("digits-store", own), ("digits", {"app": "other"})):
        spec = {"selector": labels}
        cluster.add({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
    result = program("cancel", "digits")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "deleted Job 'digits'",
        "deleted NetworkPolicy 'digits'",
        "deleted Deployment 'digits-store'",
        "deleted Service 'digits-store'",
    ]
    left = [path for path in cluster.objects if "digits" in path]
    assert left == ["/api/v1/namespaces/team/services/digits"]


def test_status_shows_each_pod_of_a_job_of_torchrun_once(
    program: Program, cluster: FakeCluster, torch_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(torch_job())
    for name, number in (("digits-0-x7k2p", 0), ("digits-1-q9w4z", 1)):
        cluster.add(indexed(pod(name, "worker"), number))
    result = program("status", "digits")
    assert (result.code, result.err) == (0, "")
    assert "2 of 2 workers ready" in result.out
    assert "16 ranks" in result.out
    assert [result.out.count(name) for name in ("digits-0-x7k2p", "digits-1-q9w4z")] == [1, 1]
    assert "launcher" not in result.out


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


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_cancel_without_the_permission_for_policies_deletes_every_job(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, method: str
) -> None:
    for name in ("digits", "other"):
        cluster.add(mpi_job(name, "Running"))
    cluster.add(policy("digits"))
    verb = method.lower()
    message = f'User "u" cannot {verb} resource "networkpolicies"'
    cluster.failures.append(Failure(403, "/networkpolicies/digits", method, message=message))
    result = program("cancel", "digits", "other")
    assert (result.code, result.out) == (0, "deleted MPIJob 'digits'\ndeleted MPIJob 'other'\n")
    assert result.err.startswith(
        f"note: not deleted: NetworkPolicy 'digits' (if it exists): you may not {verb} networkpolicies"
    )
    assert result.err.count("\n") == 1


def test_cancel_that_fails_says_what_it_has_not_deleted(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob
) -> None:
    for name in ("one", "two", "three"):
        cluster.add(mpi_job(name, "Running"))
    denied = Failure(403, "/mpijobs/two", "DELETE", message='User "u" cannot delete resource "mpijobs"')
    cluster.failures.append(denied)
    result = program("cancel", "one", "two", "three")
    assert (result.code, result.out) == (3, "deleted MPIJob 'one'\n")
    assert result.err.splitlines()[1:] == [
        "not deleted: MPIJob 'two', MPIJob 'three', NetworkPolicy 'one' (if it exists), NetworkPolicy 'two' (if it "
        "exists), NetworkPolicy 'three' (if it exists)"
    ]
    cluster.failures[:] = [Failure(500, "/networkpolicies/three", "GET")]
    result = program("cancel", "two", "three")
    assert (result.code, result.out) == (3, "deleted MPIJob 'two'\ndeleted MPIJob 'three'\n")
    assert result.err.splitlines()[1:] == ["not deleted: NetworkPolicy 'three' (if it exists)"]


def test_cancel_waits_for_all_jobs_at_once(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_commands, "PODS_END_SECONDS", 10)
    for job in ("one", "two", "three"):
        cluster.add(mpi_job(job, "Running"))
        cluster.add(pod(f"{job}-worker-0", "worker", job=job))
    # Before the sixth LIST: three jobs are looked up, then two of the three asked about.
    cluster.before_get[PODS] = [*[lambda: None] * 4, lambda: cluster.remove_pods("two")]
    result = program("cancel", "one", "two", "three")
    assert result.code == 4
    assert result.out == "deleted MPIJob 'one'\ndeleted MPIJob 'two'\ndeleted MPIJob 'three'\n"
    assert result.err == "error: pods of 'one', 'three' may still be ending: 'kubectl get pods' shows them\n"


def test_cancel_reports_pods_that_do_not_end(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_commands, "PODS_END_SECONDS", 4)
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


@pytest.mark.parametrize("message", ["", "no such file: /fsx/mnist"])
def test_wait_explains_a_users_mistake_at_once(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, message: str
) -> None:
    job = cluster.add(mpi_job("digits", "Running"))
    terminated = {"exitCode": 2, "reason": "Error", **({"message": message} if message else {})}
    ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": terminated}}
    cluster.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=[ended]))
    finish = lambda: job["status"]["conditions"].append(condition("Failed", 30))  # noqa: E731
    cluster.before_get[JOB] = [lambda: None, lambda: None, lambda: None, finish]
    result = program("wait", "digits")
    assert result.code == 1
    why = "exit code 2 (the program rejects what it was given: a restart repeats that)"
    advice = (
        f"digits-launcher-a ended with {why}; read the end of 'trainctl logs digits', cancel the job, fix it and "
        "submit it again"
    )
    assert result.err.splitlines() == [
        f"note: {advice}",
        "job 'digits': Failed after 1m20s (the operator says Failed)",
        f"digits-launcher-a: {why}{': ' * bool(message)}{message}",
        f"hint: {advice}",
    ]


LAUNCHER = ("python", "-m", "training.pods.launcher", "/etc/mpi/hostfile", "--", "mpirun", "-np", "16", "train")


@pytest.mark.parametrize("command", [("wait",), ("wait", "--json"), ("logs", "-f")])
def test_a_users_mistake_that_our_launcher_has_found_ends_the_waiting_at_once(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, command: tuple[str, ...]
) -> None:
    cluster.add(mpi_job("digits", "Running", command=LAUNCHER))
    terminated = {"exitCode": 2, "reason": "Error", "message": "'--epochs' is 0"}
    ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": terminated}}
    cluster.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=[ended]))
    cluster.logs["digits-launcher-a"] = Log([("2026-11-21T10:02:00.000000000Z", "error: '--epochs' is 0")])
    result = program(*command, "digits")
    assert result.code == 1
    why = "exit code 2 (the program rejects what it was given: a restart repeats that)"
    assert [line for line in result.err.splitlines() if "waiting" not in line] == [
        "job 'digits' fails: the launchers that Kubernetes still starts end at once",
        f"digits-launcher-a: {why}: '--epochs' is 0",
        f"hint: digits-launcher-a ended with {why}; read the end of 'trainctl logs digits', cancel the job, fix it and "
        "submit it again",
    ]
    assert cluster.objects[JOB]["status"]["conditions"][-1]["type"] == "Running"


@pytest.mark.parametrize("code", [1, 75, 137])
def test_after_another_exit_code_the_launcher_may_succeed(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, code: int
) -> None:
    job = cluster.add(mpi_job("digits", "Running", command=LAUNCHER))
    ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": {"exitCode": code}}}
    cluster.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=[ended]))
    finish = lambda: job["status"]["conditions"].append(condition("Succeeded", 30))  # noqa: E731
    cluster.before_get[JOB] = [lambda: None, lambda: None, finish]
    assert program("wait", "digits").code == 0


def test_a_launcher_that_runs_again_after_a_users_mistake_is_waited_for(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    """A job that a queue has suspended and resumed has new workers: its launcher starts the ranks again."""
    job = cluster.add(mpi_job("digits", "Running", command=LAUNCHER))
    ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": {"exitCode": 2}}}
    cluster.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=[ended]))
    cluster.add(pod("digits-launcher-b", "launcher", second=30))
    finish = lambda: job["status"]["conditions"].append(condition("Succeeded", 30))  # noqa: E731
    cluster.before_get[JOB] = [lambda: None, lambda: None, finish]
    assert program("wait", "digits").code == 0


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


def test_a_cluster_that_is_unreachable_for_too_long(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
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
