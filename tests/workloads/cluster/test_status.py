import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster, Log

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]


def stage_job(name: str = "stage", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "creationTimestamp": "2026-11-21T09:00:00Z", **metadata},
        "spec": {"parallelism": 1},
        "status": {
            "startTime": "2026-11-21T09:00:00Z",
            "completionTime": "2026-11-21T09:30:00Z",
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    }


def test_a_table_of_jobs(program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> None:
    cluster.add(mpi_job("digits", "Created", "Succeeded"))
    cluster.add(stage_job())
    cluster.add(stage_job("digits-launcher", ownerReferences=[{"kind": "MPIJob", "name": "digits"}]))
    cluster.add(pod("digits-worker-0", "worker"))
    cluster.add(pod("digits-worker-1", "worker", conditions=[]))
    result = program("list")
    assert (result.code, result.err) == (0, "")
    header, first, second = [line.split() for line in result.out.splitlines()]
    assert header == ["NAME", "STATE", "WORKERS", "AGE", "DURATION"]
    assert (first[0], first[1], first[2], first[4]) == ("stage", "Succeeded", "1", "30m")
    assert (second[0], second[1], second[2], second[4]) == ("digits", "Succeeded", "2", "51s")
    assert "\x1b" not in result.out


def test_every_namespace(program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> None:
    long_name = "a-job-with-a-name-that-is-as-long-as-kubernetes-allows-it"
    cluster.add(mpi_job(long_name), namespace="research-and-development-of-the-whole-company-and-its-friends")
    cluster.add(mpi_job("digits"), namespace="lab")
    # The pods of a job of the same name elsewhere are not its.
    cluster.add(pod("digits-worker-0", "worker"), namespace="team")
    result = program("list", "-A")
    rows = [line.split() for line in result.out.splitlines()]
    assert [row[0] for row in rows] == [
        "NAMESPACE",
        "research-and-development-of-the-whole-company-and-its-friends",
        "lab",
    ]
    assert rows[1][1] == long_name
    assert rows[2][3] == "0/2"


def test_the_list_as_json(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    assert json.loads(program("list", "--json").out) == []
    cluster.add(mpi_job("digits", "Running"))
    (job,) = json.loads(program("list", "--json").out)
    assert job == {
        "kind": "MPIJob",
        "name": "digits",
        "namespace": "team",
        "state": "Running",
        "reason": "MPIJobRunning",
        "message": "the operator says Running",
        "workers": 2,
        "workers_ready": 0,
        "slots": 8,
        "world_size": 16,
        "queue": None,
        "elastic": False,
        "min_workers": None,
        "max_workers": None,
        "created": "2026-11-21T10:00:00+00:00",
        "started": "2026-11-21T10:00:10+00:00",
        "finished": None,
    }


def test_a_job_that_runs(program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> None:
    elastic = ("horovodrun", "-np", "16", "--min-np", "8", "--max-np", "32", "train")
    cluster.add(mpi_job("digits", "Running", command=elastic))
    failed = {"name": "launcher", "restartCount": 0, "state": {"terminated": {"exitCode": 134, "reason": "Error"}}}
    cluster.add(pod("digits-launcher-x", "launcher", phase="Failed", conditions=[], containerStatuses=[failed]))
    cluster.add(pod("digits-launcher-a", "launcher", second=9))
    cluster.add(pod("digits-worker-10", "worker"))
    cluster.add(pod("digits-worker-2", "worker"))
    result = program("status", "digits")
    assert (result.code, result.err) == (0, "")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0] == (
        "MPIJob 'digits' in namespace 'team': Running, 2 of 2 workers ready (the operator says Running)"
    )
    assert lines[1].endswith(", 16 ranks, elastic with 1 to 4 workers")
    assert lines[3:8] == [
        "POD ROLE STATE READY RESTARTS NODE",
        "digits-launcher-x launcher Error no 0 node-a",
        "digits-launcher-a launcher Running yes 0 node-a",
        "digits-worker-2 worker Running yes 0 node-a",
        "digits-worker-10 worker Running yes 0 node-a",
    ]
    assert lines[8:] == ["", "digits-launcher-x: exit code 134"]


def test_a_launcher_that_ended_on_a_stop_request(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    stopped = {"name": "launcher", "restartCount": 0, "state": {"terminated": {"exitCode": 75, "reason": "Error"}}}
    cluster.add(pod("digits-launcher-x", "launcher", phase="Failed", conditions=[], containerStatuses=[stopped]))
    result = program("status", "digits")
    assert result.out.splitlines()[-1] == (
        "digits-launcher-x: exit code 75 (stopped on request, the state is saved: a restart resumes)"
    )


@pytest.mark.parametrize("place", ["state", "lastState"])
def test_the_reason_that_a_container_wrote(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, place: str
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    terminated = {"terminated": {"exitCode": 1, "reason": "Error", "message": "2 of 4 workers did not\nanswer"}}
    states = {"state": terminated} if place == "state" else {"state": {"running": {}}, "lastState": terminated}
    sidecar = {"name": "exporter", "restartCount": 0, "state": {"running": {}}}
    launcher = {"name": "launcher", "restartCount": int(place == "lastState"), **states}
    # The kubelet sorts them by name.
    cluster.add(pod("digits-launcher-a", "launcher", containerStatuses=[sidecar, launcher]))
    report = json.loads(program("status", "digits", "--json").out)
    (launcher,) = report["launchers"]
    state, before = {"state": ("Error", ""), "lastState": ("Running", "restarted after ")}[place]
    assert (launcher["state"], launcher["why"]) == (state, f"{before}exit code 1: 2 of 4 workers did not answer")
    # The one that runs has none.
    assert launcher["exit_code"] == {"state": 1, "lastState": None}[place]


def test_a_container_that_restarts_again_and_again_says_why(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting"}}
    last = {"terminated": {"exitCode": 1, "reason": "Error", "message": "worker-1: 7 of 8 GPUs"}}
    container = {"name": "launcher", "restartCount": 3, "state": waiting, "lastState": last}
    cluster.add(pod("digits-launcher-a", "launcher", containerStatuses=[container]))
    out = program("status", "digits").out
    assert "\ndigits-launcher-a: back-off 20s restarting; exit code 1: worker-1: 7 of 8 GPUs\n" in out


EFA = "network: efa, 32/32 devices on 2/2 nodes"


def launcher_log(*texts: str) -> Log:
    return Log([("2026-11-21T10:02:00.000000000Z", text) for text in texts])


@pytest.mark.parametrize("state", ["Running", "Succeeded", "Failed"])
def test_what_carries_the_traffic(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, state: str
) -> None:
    cluster.add(mpi_job("digits", state))
    cluster.add(pod("digits-launcher-0", "launcher"))
    cluster.add(pod("digits-launcher-a", "launcher", second=30))
    cluster.logs["digits-launcher-0"] = launcher_log("network: of the attempt before")
    cluster.logs["digits-launcher-a"] = launcher_log("[1,0]<stdout>:network: a rank's line", "begin", EFA, "epoch 1")
    assert program("status", "digits").out.splitlines()[2] == EFA
    assert json.loads(program("status", "digits", "--json").out)["network"] == EFA.removeprefix("network: ")


def test_the_newest_line_counts_where_the_ranks_were_started_again(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(pod("digits-launcher-a", "launcher"))
    tcp = "network: tcp (Socket) on 2/2 nodes, although EFA was requested"
    cluster.logs["digits-launcher-a"] = launcher_log(EFA, tcp)
    assert program("status", "digits").out.splitlines()[2] == tcp


def test_ranks_that_repeat_their_training_are_a_hint(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    from training.pods.repeated_training import Starts

    clock = iter([0.0, *[2460.0] * 9])
    starts, epochs = Starts(lambda: next(clock)), b"Epoch 1/9\nEpoch 2/9\nEpoch 3/9\n"
    for _ in range(2):
        starts.begin()
        starts.read(epochs, 1)
    line = starts.line()
    assert line
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(pod("digits-launcher-a", "launcher"))
    cluster.logs["digits-launcher-a"] = launcher_log("Epoch 1/9", line, "Epoch 2/9")
    assert json.loads(program("status", "digits", "--json").out)["hints"] == [
        "after their last start the ranks began again, without a checkpoint, and repeat 41 minutes of training: the "
        "program has to save its state and to resume; docs/exact-resume.md shows how"
    ]


def test_only_the_beginning_of_a_long_log_is_read(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(pod("digits-launcher-a", "launcher"))
    cluster.logs["digits-launcher-a"] = launcher_log(EFA, *["x" * 2**16] * 20, "network: a line of the program's own")
    assert program("status", "digits").out.splitlines()[2] == EFA


@pytest.mark.parametrize(
    ("code", "message"),
    [(403, 'pods "a" is forbidden: User "u" cannot get resource "pods/log"'), (404, ""), (500, "no route to host")],
)
def test_a_log_that_cannot_be_read_is_no_failure(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod, code: int, message: str
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(pod("digits-launcher-a", "launcher"))
    cluster.logs["digits-launcher-a"] = launcher_log(EFA)
    cluster.failures.append(Failure(code, "/log", "GET", message=message))
    result = program("status", "digits")
    assert (result.code, result.err, "network: " in result.out) == (0, "", False)


def event(name: str, reason: str, message: str, time: str, kind: str = "Pod", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{time}"},
        "type": "Warning",
        "involvedObject": {"kind": kind, "name": name},
        "reason": reason,
        "message": message,
        "lastTimestamp": time,
        **more,
    }


def test_the_last_warnings_of_the_job_and_its_parts(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Created"))
    cluster.add(event("digits-worker-0", "Evicted", "disk pressure", "2026-11-21T10:05:00Z", count=3))
    cluster.add(event("digits-launcher", "BackoffLimitExceeded", "too often", "2026-11-21T10:06:00Z", "Job"))
    # Not its: another job, a job of this name before it, and normal events.
    cluster.add(event("digits2-worker-0", "Other", "", "2026-11-21T10:05:00Z"))
    cluster.add(event("digits-worker-0", "Older", "", "2026-11-21T09:05:00Z"))
    cluster.add(event("digits", "Fine", "", "2026-11-21T10:05:00Z") | {"type": "Normal"})
    # The scheduler writes a series.
    times = {"lastTimestamp": None, "eventTime": "2026-11-21T10:01:00.000001Z"}
    series = {"count": 7, "lastObservedTime": "2026-11-21T10:07:00.000001Z"}
    cluster.add(event("digits-worker-1", "FailedScheduling", "no\n node", "-", series=series) | times)
    report = json.loads(program("status", "digits", "--json").out)
    assert [(each["about"], each["reason"], each["message"], each["count"]) for each in report["warnings"]] == [
        ("Pod/digits-worker-0", "Evicted", "disk pressure", 3),
        ("Job/digits-launcher", "BackoffLimitExceeded", "too often", 1),
        ("Pod/digits-worker-1", "FailedScheduling", "no node", 7),
    ]
    assert "ago, Pod/digits-worker-0: Evicted (x3): disk pressure\n" in program("status", "digits").out


def test_shows_only_the_last_warnings(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Created"))
    for minute in range(8):
        cluster.add(event("digits", f"R{minute}", "", f"2026-11-21T10:0{minute}:30Z", "MPIJob"))
    report = json.loads(program("status", "digits", "--json").out)
    assert [each["reason"] for each in report["warnings"]] == ["R3", "R4", "R5", "R6", "R7"]


def test_the_status_of_a_batch_job(program: Program, cluster: FakeCluster) -> None:
    cluster.add(stage_job())
    result = program("status", "stage")
    assert (result.code, result.out.splitlines()[0]) == (0, "Job 'stage' in namespace 'team': Succeeded")


def test_an_unknown_name_is_reported_with_close_ones(program: Program, cluster: FakeCluster, mpi_job: MpiJob) -> None:
    beginning = "error: 'NAME' is 'digts', but namespace 'team' has no such job; "
    result = program("status", "digts")
    assert (result.code, result.err) == (2, f"{beginning}there is none; 'list -A' shows those of every namespace\n")
    cluster.add(mpi_job("digits"))
    cluster.add(stage_job())
    result = program("status", "digts")
    assert (result.code, result.err) == (2, f"{beginning}did you mean digits? known: digits, stage\n")
