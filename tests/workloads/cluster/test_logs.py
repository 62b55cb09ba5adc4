import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program, condition, indexed
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster, Log
from training_workloads.cluster import client

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

JOB = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/digits"


def at(second: int, fraction: int = 0) -> str:
    return f"2026-11-21T10:02:{second:02}.{fraction:09}Z"


def lines(*texts: str) -> list[tuple[str, str]]:
    return [(at(second), text) for second, text in enumerate(texts)]


def finish(cluster: FakeCluster, how: str = "Succeeded") -> Callable[[], None]:
    def change() -> None:
        cluster.objects[JOB]["status"]["conditions"].append(condition(how, 50))

    return change


@pytest.fixture
def running(cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> FakeCluster:
    cluster.add(mpi_job("digits", "Created", "Running"))
    cluster.add(pod("digits-worker-0", "worker"))
    cluster.add(pod("digits-worker-1", "worker"))
    cluster.add(pod("digits-launcher-a", "launcher"))
    return cluster


def test_prints_the_lines_that_exist(program: Program, running: FakeCluster) -> None:
    running.logs["digits-launcher-a"] = Log(lines("begin", "", "[1,3]<stdout>:epoch 1", "[b]no markup[/b] :smile:"))
    result = program("logs", "digits")
    assert (result.code, result.err) == (0, "")
    assert result.out == "begin\n\nrank  3 | epoch 1\n[b]no markup[/b] :smile:\n"
    assert program("logs", "digits", "--tail=1").out == "[b]no markup[/b] :smile:\n"
    assert program("logs", "digits", "--tail=0").out == ""


def test_the_newest_launcher_and_a_worker(program: Program, running: FakeCluster, pod: MakePod) -> None:
    running.add(pod("digits-launcher-0", "launcher", second=30))
    running.logs["digits-launcher-0"] = Log(lines("second try"))
    running.logs["digits-worker-1"] = Log(lines("Server listening on 0.0.0.0 port 2222."))
    assert program("logs", "digits").out == "second try\n"
    assert program("logs", "digits", "--worker=1").out == "Server listening on 0.0.0.0 port 2222.\n"
    result = program("logs", "digits", "--worker=2")
    assert (result.code, result.err.partition(";")[0]) == (
        2,
        "error: '--worker' is 2, but 'digits' has the workers 0 to 1",
    )


def test_a_launcher_that_has_not_started(program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> None:
    cluster.add(mpi_job("digits", "Created"))
    cluster.add(pod("digits-worker-0", "worker"))
    waiting = {"name": "launcher", "restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}}
    result = program("logs", "digits")
    beginning, end = (
        "error: 'NAME' is 'digits', but its launcher has not started, waiting",
        "; add '-f' to wait for it\n",
    )
    assert (result.code, result.err) == (2, f"{beginning} for 2 workers, 1 ready{end}")
    cluster.add(pod("digits-launcher-a", "launcher", phase="Pending", containerStatuses=[waiting]))
    result = program("logs", "digits")
    assert result.err == f"{beginning} for pod digits-launcher-a, Pending{end}"
    cluster.objects[JOB]["status"]["conditions"].append(condition("Suspended", 9))
    assert program("logs", "digits").err == f"{beginning} for the job, which is suspended{end}"


def test_ignores_the_launcher_of_an_earlier_job_of_that_name(
    program: Program, running: FakeCluster, pod: MakePod
) -> None:
    del running.objects["/api/v1/namespaces/team/pods/digits-launcher-a"]
    running.add(pod("digits-launcher-z", "launcher"), creationTimestamp="2026-11-21T09:59:59Z")
    running.logs["digits-launcher-z"] = Log(lines("of the day before"))
    result = program("logs", "digits")
    assert (result.code, result.out) == (2, "")


def test_a_deleted_worker(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Succeeded"))
    result = program("logs", "digits", "--worker=0")
    message = (
        "error: 'NAME' is 'digits', but worker 0 is deleted, and the log with it; run 'status digits' for what is "
        "known\n"
    )
    assert (result.code, result.err) == (2, message)


@pytest.mark.parametrize(("end", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_following_ends_as_the_job_does(program: Program, running: FakeCluster, end: str, code: int) -> None:
    running.logs["digits-launcher-a"] = Log(lines("one", "two"), at_end=finish(running, end))
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (code, "one\ntwo\n")
    assert result.err == f"job 'digits': {end} after 1m40s (the operator says {end})\n"


def test_following_waits_for_the_launcher(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Created"))
    cluster.logs["digits-launcher-a"] = Log(lines("one"), at_end=finish(cluster))
    cluster.before_get[JOB] = [lambda: None, lambda: None, lambda: cluster.add(pod("digits-launcher-a", "launcher"))]
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (0, "one\n")


def test_a_broken_log_continues_without_repeating(program: Program, running: FakeCluster) -> None:
    # Three lines of one moment: the break is between them.
    written = [(at(1), "a"), (at(2, 5), "b"), (at(2, 5), "c"), (at(2, 5), "d"), (at(3), "e")]
    running.logs["digits-launcher-a"] = Log(written, break_after=3, at_end=finish(running))
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (0, "a\nb\nc\nd\ne\n")
    assert "note: the connection to http://127.0.0.1:" in result.err
    assert "; the log continues where it broke" in result.err


def test_a_clock_that_steps_back_loses_no_line(program: Program, running: FakeCluster) -> None:
    written = [(at(5), "a"), (at(3), "b"), (at(6), "c")]
    running.logs["digits-launcher-a"] = Log(written, at_end=finish(running))
    assert program("logs", "-f", "digits").out == "a\nb\nc\n"


def test_follows_a_restarted_launcher(
    program: Program, running: FakeCluster, pod: MakePod, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restart() -> None:
        ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": {"exitCode": 1}}}
        running.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=[ended]))
        # Two attempts at once: no log is skipped.
        running.add(pod("digits-launcher-c", "launcher", second=20))
        running.add(pod("digits-launcher-b", "launcher", second=30))

    running.logs["digits-launcher-a"] = Log(lines("attempt 1"), at_end=restart)
    running.logs["digits-launcher-c"] = Log(lines("attempt 2"))
    running.logs["digits-launcher-b"] = Log(lines("attempt 3"), at_end=finish(running))
    result = program("logs", "-f", "digits", "--tail=1")
    assert (result.code, result.out) == (0, "attempt 1\nattempt 2\nattempt 3\n")
    notes = [line for line in result.err.splitlines() if line.startswith("note")]
    assert notes == [
        "note: the launcher was restarted as digits-launcher-c after exit code 1",
        "note: the launcher was restarted as digits-launcher-b",
    ]


def test_a_users_mistake_is_explained_while_it_is_retried(program: Program, running: FakeCluster, pod: MakePod) -> None:
    terminated = {"exitCode": 2, "message": "no such file: /fsx/mnist"}
    ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": terminated}}

    def retry() -> None:
        running.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=[ended]))

    def retry_again() -> None:
        running.add(pod("digits-launcher-b", "launcher", second=30))

    running.logs["digits-launcher-a"] = Log(lines("error: no such file: /fsx/mnist"), at_end=retry)
    running.logs["digits-launcher-b"] = Log(lines("again"), at_end=finish(running, "Failed"))
    running.before_get[JOB] = [*[lambda: None] * 3, retry_again]
    result = program("logs", "-f", "digits")
    why = "exit code 2 (the program rejects what it was given: a restart repeats that)"
    assert (result.code, result.out) == (1, "error: no such file: /fsx/mnist\nagain\n")
    assert [line for line in result.err.splitlines() if line.startswith("note: ") and "waiting" not in line] == [
        f"note: digits-launcher-a ended with {why}; read the end of 'trainctl logs digits', cancel the job, fix it and "
        "submit it again",
        f"note: the launcher was restarted as digits-launcher-b after {why}: no such file: /fsx/mnist",
    ]


def test_a_users_mistake_of_a_container_that_runs_again_is_over(
    program: Program, running: FakeCluster, pod: MakePod
) -> None:
    states = {"state": {"running": {}}, "lastState": {"terminated": {"exitCode": 2}}}
    again = {"name": "launcher", "restartCount": 1, **states}
    running.add(pod("digits-launcher-a", "launcher", containerStatuses=[again]))
    running.logs["digits-launcher-a"] = Log(lines("epoch 1"))
    running.before_get[JOB] = [*[lambda: None] * 3, finish(running)]
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (0, "epoch 1\n")
    assert "exit code 2" not in result.err


def test_a_log_that_breaks_at_the_end_of_the_job_is_complete(
    program: Program, running: FakeCluster, pod: MakePod
) -> None:
    running.logs["digits-launcher-a"] = Log(lines("a", "b", "c"), break_after=1, breaks=2)
    running.logs["digits-launcher-b"] = Log(lines("d"))

    def end() -> None:
        finish(running)()
        running.add(pod("digits-launcher-b", "launcher", second=30))

    running.before_get[JOB] = [lambda: None, end]
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (0, "a\nb\nc\nd\n")


def test_follows_a_container_that_restarts_in_its_pod(program: Program, running: FakeCluster) -> None:
    log = Log(lines("attempt 1"))

    def restart() -> None:
        log.lines = [(at(30), "attempt 2")]
        log.at_end = finish(running)

    log.at_end = restart
    running.logs["digits-launcher-a"] = log
    assert program("logs", "-f", "digits").out == "attempt 1\nattempt 2\n"


def test_a_job_that_is_deleted_while_it_is_followed(program: Program, running: FakeCluster) -> None:
    def delete() -> None:
        del running.objects[JOB]

    running.logs["digits-launcher-a"] = Log(lines("one"), at_end=delete)
    result = program("logs", "-f", "digits")
    assert (result.code, result.out, result.err) == (1, "one\n", "job 'digits' was deleted before its end\n")


def test_a_silent_log_is_requested_again(
    program: Program, running: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = client._lines

    def impatient(response: Any) -> Iterator[str]:
        found = read(response)
        yield next(found)
        # Only now: however slow the machine is, what follows the first line is silence.
        response.connection.sock.settimeout(0.05)
        yield from found

    monkeypatch.setattr(client, "_lines", impatient)
    log = Log(lines("one"), open_for=threading.Event())
    running.logs["digits-launcher-a"] = log

    def continue_log() -> None:
        running.logs["digits-launcher-a"] = Log([*log.lines, (at(40), "two")], at_end=finish(running))

    running.before_get[JOB] = [lambda: None, continue_log]
    result = program("logs", "-f", "digits")
    assert log.open_for is not None
    log.open_for.set()
    assert (result.code, result.out) == (0, "one\ntwo\n")
    assert "note" not in result.err


def test_a_cluster_that_is_unreachable_for_a_moment(program: Program, running: FakeCluster) -> None:
    running.logs["digits-launcher-a"] = Log(lines("one"), at_end=None)
    unreachable = Failure(503, JOB, skipped=1, times=2, message="no endpoints")
    running.failures.append(unreachable)
    running.before_get[JOB] = [lambda: None, finish(running)]
    result = program("logs", "-f", "digits")
    assert (result.code, result.out, unreachable.times) == (0, "one\n", 0)
    assert result.err.splitlines()[0] == (
        "note: the cluster answered with an internal error (503: no endpoints); retrying for up to 180 seconds"
    )
    assert result.err.count("note") == 1


def test_following_a_worker_ends_with_its_pod(program: Program, running: FakeCluster, pod: MakePod) -> None:
    def end() -> None:
        running.add(pod("digits-worker-0", "worker", phase="Succeeded"))

    running.logs["digits-worker-0"] = Log(lines("sshd"), at_end=end)
    result = program("logs", "-f", "digits", "--worker=0")
    assert (result.code, result.out, result.err) == (0, "sshd\n", "")


def test_the_log_of_a_worker_of_torchrun_is_that_of_its_newest_pod(
    program: Program, cluster: FakeCluster, torch_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(torch_job())
    for second, (name, number) in enumerate(
        (("digits-0-a", 0), ("digits-1-b", 1), ("digits-0-c", 0), ("digits-1-d", 1))
    ):
        cluster.add(indexed(pod(name, "worker", second=second), number))
        cluster.logs[name] = Log(lines(f"log of {name}"))
    assert program("logs", "digits", "--worker=0").out == "log of digits-0-c\n"
    assert program("logs", "digits", "--worker=1").out == "log of digits-1-d\n"
    assert program("logs", "digits", "--worker=2").err.startswith(
        "error: '--worker' is 2, but 'digits' has the workers 0 to 1"
    )


def test_without_a_worker_the_log_of_torchrun_is_that_of_rank_zero(
    program: Program, cluster: FakeCluster, torch_job: MpiJob, pod: MakePod
) -> None:
    job = cluster.add(torch_job())
    for second, (name, number) in enumerate((("digits-0-a", 0), ("digits-1-b", 1))):
        cluster.add(indexed(pod(name, "worker", second=second), number))
        cluster.logs[name] = Log(lines(f"log of {name}"))
    assert program("logs", "digits").out == "log of digits-0-a\n"

    def complete() -> None:
        cluster.add(indexed(pod("digits-0-c", "worker", second=9), 0))
        cluster.logs["digits-0-c"] = Log(lines("log of digits-0-c"))
        job["status"]["conditions"] = [{"type": "Complete", "status": "True"}]

    cluster.logs["digits-0-a"] = Log(lines("log of digits-0-a"), at_end=complete)
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (0, "log of digits-0-a\nlog of digits-0-c\n")
    # The other worker is none of its attempts.
    assert result.err.splitlines()[0] == "note: the worker was restarted as digits-0-c"


@pytest.mark.parametrize(("nodes", "newest"), [("2", "digits-0-a"), ("1:4", "digits-0-a"), ("1", "digits-1-b")])
def test_a_worker_of_torchrun_has_a_number_where_all_are_one_run(
    program: Program, cluster: FakeCluster, torch_job: MpiJob, pod: MakePod, nodes: str, newest: str
) -> None:
    cluster.add(torch_job(nodes=nodes))
    for second, (name, number) in enumerate((("digits-0-a", 0), ("digits-1-b", 1))):
        cluster.add(indexed(pod(name, "worker", second=second), number))
        cluster.logs[name] = Log(lines(f"log of {name}"))
    assert program("logs", "digits").out == f"log of {newest}\n"
    result = program("logs", "digits", "--worker=1")
    assert (result.out == "log of digits-1-b\n", "has no workers" in result.err) == (nodes != "1", nodes == "1")


def test_the_log_of_a_batch_job(program: Program, cluster: FakeCluster, pod: MakePod) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "stage"}, "spec": {"parallelism": 1}}
    cluster.add(job)
    result = program("logs", "stage")
    assert (result.code, "but its pod has not started, waiting for a pod; the job is Pending" in result.err) == (
        2,
        True,
    )
    made = cluster.add(pod("stage-x", "copy"))
    made["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "stage"}
    cluster.logs["stage-x"] = Log(lines("1 of 9 files"))
    assert program("logs", "stage").out == "1 of 9 files\n"
    result = program("logs", "stage", "--worker=0")
    message = "error: '--worker' is 0, but Job 'stage' has no workers; omit the option for the log of the other pods\n"
    assert (result.code, result.err) == (2, message)


@pytest.mark.parametrize(
    ("workers", "allowed"),
    [
        (0, "MPIJob 'digits' has no workers; omit the option for the log of the other pods"),
        (1, "'digits' has only worker 0; give a number that exists"),
        (3, "'digits' has the workers 0 to 2; give a number that exists"),
    ],
)
def test_a_worker_that_the_job_does_not_have(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, workers: int, allowed: str
) -> None:
    job = mpi_job("digits", "Running")
    job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = workers
    cluster.add(job)
    result = program("logs", "digits", "--worker=7")
    assert (result.code, result.err) == (2, f"error: '--worker' is 7, but {allowed}\n")


def test_without_a_terminal_notes_say_what_the_command_waits_for(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Created"))
    cluster.logs["digits-launcher-a"] = Log(lines("one"), at_end=finish(cluster))
    cluster.before_get[JOB] = [
        lambda: None,
        lambda: None,
        lambda: cluster.add(pod("digits-worker-0", "worker")),
        lambda: None,
        lambda: cluster.add(pod("digits-launcher-a", "launcher")),
    ]
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (0, "one\n")
    notes = [line for line in result.err.splitlines() if line.startswith("note")]
    assert notes == ["note: waiting for 2 workers, 0 ready", "note: waiting for 2 workers, 1 ready"]
