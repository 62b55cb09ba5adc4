"""A sweep on a cluster whose jobs end as soon as they exist."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.bench.conftest import RECIPES, records
from tests.workloads.cluster.conftest import Program, condition, indexed
from tests.workloads.cluster.fake_cluster import FakeCluster, Log
from training.nccl_test import __main__ as nccl_test
from training.nccl_test import nccl_log
from training.runtime import files
from training_workloads.bench import cluster_runner
from training_workloads.bench.cells import sweep_cells
from training_workloads.bench.sweep import load_sweep
from training_workloads.cluster import polling

SWEEP = """
recipe: resnet50-p3dn
runner: cluster
job: {image: 'registry/training:1', namespace: team}
axes:
  nodes: [1, 2]
budget: 100
planned_hours: 0.5
"""
RUN = ("bench", "run", "sweep.yaml", "--results", "results")
JOBS = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs"
RESULTS = (
    'results: {"images_per_second": 9000.0, "wall_images_per_second": 8000.0, "step_milliseconds": {"p50": 215.5}}'
)


class Collected(dict[str, dict[str, Any]]):
    """Objects of which a deleted job's pods go with it, as the garbage collector deletes them."""

    cluster: FakeCluster

    def __delitem__(self, path: str) -> None:
        document = self[path]
        super().__delitem__(path)
        if document["kind"] == "MPIJob":
            self.cluster.remove_pods(document["metadata"]["name"])


@pytest.fixture
def jobs(
    cluster: FakeCluster, folder: Path, pod: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    """The jobs that the cluster got; each has run for half an hour when it is created."""
    (folder / "sweep.yaml").write_text(SWEEP)
    results = folder / "results"
    results.mkdir()
    (results / "id").write_text("abc123")
    cluster.objects = Collected(cluster.objects)
    cluster.objects.cluster = cluster
    cluster.add({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "training-lustre"}})
    got: list[dict[str, Any]] = []
    add = cluster.add

    def ended(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        if document["kind"] == "MPIJob":
            name = document["metadata"]["name"]
            got.append(document)
            document["status"] = {
                "startTime": "2026-11-21T10:00:00Z",
                "completionTime": "2026-11-21T10:30:00Z",
                "conditions": [condition("Succeeded")],
            }
            launcher = add(pod(f"{name}-launcher", "launcher", job=name))
            cluster.logs[launcher["metadata"]["name"]] = Log(
                [
                    ("2026-11-21T10:00:01Z", "network: tcp (Socket)"),
                    ("2026-11-21T10:29:00Z", f"[1,0]<stdout>:{RESULTS}"),
                ]
            )
        return add(document, **metadata)

    monkeypatch.setattr(cluster, "add", ended)
    return got


@pytest.fixture
def pod() -> Callable[..., dict[str, Any]]:
    def make(name: str, role: str, *, job: str) -> dict[str, Any]:
        labels = {"training.kubeflow.org/job-name": job, "training.kubeflow.org/job-role": role}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [{"name": role}]},
            "status": {
                "phase": "Succeeded",
                "containerStatuses": [{"name": role, "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}],
            },
        }

    return make


def names() -> dict[int, str]:
    """Return the hash of each cell by its nodes."""
    return {cell.nodes: cell.name for cell in sweep_cells(load_sweep("sweep.yaml"))}


def left(cluster: FakeCluster) -> list[str]:
    return [path for path in cluster.objects if "bench-" in path]


def test_jobs_are_submitted_measured_and_deleted(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]]
) -> None:
    result = program(*RUN)
    assert (result.code, result.out) == (0, "results/report.md\n")
    named = names()
    assert [job["metadata"]["name"] for job in jobs] == [f"bench-abc123-{named[nodes]}-1-1" for nodes in (2, 1)]
    assert {job["metadata"]["labels"]["trainctl/sweep"] for job in jobs} == {"abc123"}
    assert [job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] for job in jobs] == [2, 1]
    assert left(cluster) == []
    found = records(folder / "results")
    assert [(each["state"], each["usd"], each["seconds"]) for each in found] == [
        ("finished", 31.212, 1800),
        ("finished", 15.606, 1800),
    ]
    assert [(each["network"], each["results"]["images_per_second"]) for each in found] == [("tcp (Socket)", 9000)] * 2
    assert RESULTS in (folder / f"results/{named[2]}/1/log.txt").read_text()
    # 9,000 images/s on 16 GPUs are half of twice those on 8.
    report = (folder / "results/report.md").read_text()
    assert "| resnet50-p3dn | 2 | 16 | 9,000.0 | 8,000.0 | 215.5 | 50.0% | 31.21 |" in report
    assert (program(*RUN).code, len(jobs)) == (0, 2)


def test_stops_before_a_cell_that_exceeds_the_budget(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]]
) -> None:
    (folder / "sweep.yaml").write_text(SWEEP.replace("budget: 100", "budget: 46.81"))
    stopped = program(*RUN)
    assert (stopped.code, len(jobs)) == (1, 1)
    assert (
        "note: stopped before resnet50-p3dn, nodes 1: it would cost $15.61, and $31.21 of the budget of $46.81 "
        "are used; raise the budget, and the same command continues"
    ) in stopped.err
    (folder / "sweep.yaml").write_text(SWEEP.replace("budget: 100", "budget: 46.82"))
    assert (program(*RUN).code, len(jobs)) == (0, 2)


def test_a_job_that_fails_is_deleted_and_its_reason_reported(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_runner, "SUCCEEDED", "nothing")
    assert program(*RUN).code == 1
    assert left(cluster) == []
    assert {each["state"] for each in records(folder / "results")} == {"failed"}
    report = (folder / "results/report.md").read_text()
    assert "- resnet50-p3dn, nodes 1: Succeeded (the operator says Succeeded)" in report


def test_a_users_mistake_ends_the_cell_before_kubernetes_has_started_the_launcher_again(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    add = cluster.add

    def mistaken(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        added = add(document, **metadata)
        if document["kind"] == "MPIJob":
            added["status"] = {"conditions": [condition("Running")]}
            (launcher,) = [found for path, found in cluster.objects.items() if "/pods/bench-" in path]
            terminated = {"exitCode": 2, "message": "'--epochs' is 0"}
            ended = {"name": "launcher", "restartCount": 0, "state": {"terminated": terminated}}
            launcher["status"] = {"phase": "Failed", "containerStatuses": [ended]}
        return added

    monkeypatch.setattr(cluster, "add", mistaken)
    assert program(*RUN).code == 1
    assert left(cluster) == []
    why = "exit code 2 (the program rejects what it was given: a restart repeats that)"
    assert [each["reason"] for each in records(folder / "results")] == [f"Failed ({why}: '--epochs' is 0)"] * 2


def test_a_log_without_results_is_no_measurement(
    program: Program, folder: Path, jobs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_runner, "read_log", lambda *_, **__: iter(["an older image", "results: {cut"]))
    assert program(*RUN).code == 1
    assert [each["reason"] for each in records(folder / "results")] == [
        "succeeded without a line 'results: …' in its log"
    ] * 2


def test_the_results_of_torchrun_are_in_the_log_of_worker_zero(
    program: Program,
    cluster: FakeCluster,
    folder: Path,
    jobs: list[dict[str, Any]],
    pod: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "sweep.yaml").write_text(SWEEP.replace("resnet50-p3dn", "torch-resnet50-p4d"))
    add = cluster.add

    def completed(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        if document["kind"] == "Job":
            name = document["metadata"]["name"]
            document["status"] = {
                "startTime": "2026-11-21T10:00:00Z",
                "conditions": [
                    {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T10:30:00Z"},
                ],
            }
            for number in range(document["spec"]["completions"]):
                worker = indexed(pod(f"{name}-{number}", "worker", job=name), number, name)
                add(worker, creationTimestamp=f"2026-11-21T10:00:0{number}Z")
                cluster.logs[f"{name}-{number}"] = Log([("2026-11-21T10:29:00Z", RESULTS)] if number == 0 else [])
        return add(document, **metadata)

    monkeypatch.setattr(cluster, "add", completed)
    monkeypatch.setattr(cluster_runner, "wait_until_gone", lambda *_: [])
    # Measured with all nodes of the cell, and no fewer.
    cells = sweep_cells(load_sweep("sweep.yaml"))
    assert [getattr(cell.spec, "min_workers", None) for cell in cells] == [2, 1]
    assert program(*RUN).code == 0
    assert [each["state"] for each in records(folder / "results")] == ["finished"] * 2


@pytest.mark.parametrize(("end", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_a_signal_deletes_the_job_that_runs(
    program: Program,
    cluster: FakeCluster,
    folder: Path,
    jobs: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    end: BaseException,
    code: int,
) -> None:
    def interrupted(*_: Any) -> None:
        assert len(left(cluster)) == 3
        raise end

    with monkeypatch.context() as patch:
        patch.setattr(cluster_runner, "wait_for_end", interrupted)
        # The program ends its process at once after Ctrl-C.
        patch.setattr("os._exit", lambda number: (_ for _ in ()).throw(SystemExit(number)))
        assert program(*RUN).code == code
    assert left(cluster) == []
    (record,) = records(folder / "results")
    assert record["state"] == "interrupted"
    # Another attempt has another name, and so another output folder.
    assert program(*RUN).code == 0
    assert [job["metadata"]["name"][-4:] for job in jobs] == ["-1-1", "-1-2", "-1-1"]


def test_after_a_kill_the_job_is_waited_for_and_others_are_deleted(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]]
) -> None:
    mine, stray, foreign = f"bench-abc123-{names()[1]}-1-1", "bench-abc123-0000000000-1-1", "bench-ffffff-1"
    for name in (mine, stray, foreign):
        metadata = {"name": name, "labels": {"trainctl/sweep": name.split("-")[1]}}
        cluster.add({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata, "spec": {}})
    jobs.clear()
    attempt = folder / f"results/{names()[1]}/1/attempt.json"
    attempt.parent.mkdir(parents=True)
    attempt.write_text(json.dumps({"number": 1, "job": mine, "usd_before": 0, "planned_usd": 12.24}))
    result = program(*RUN)
    assert result.code == 0
    assert f"note: deleting job '{stray}', which an earlier start left" in result.err
    assert f"note: resnet50-p3dn, nodes 1: waiting for job '{mine}', which an earlier start created" in result.err
    assert [job["metadata"]["name"] for job in jobs] == [f"bench-abc123-{names()[2]}-1-1"]
    assert [path for path in left(cluster) if "/mpijobs/" in path] == [f"{JOBS}/{foreign}"]
    assert [each["job"] for each in records(folder / "results")] == [mine, jobs[0]["metadata"]["name"]]


def test_a_rejected_job_costs_nothing_and_leaves_nothing(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]]
) -> None:
    del cluster.objects["/api/v1/namespaces/team/persistentvolumeclaims/training-lustre"]
    result = program(*RUN)
    assert result.code == 2
    assert "training-lustre" in result.err
    assert (jobs, left(cluster)) == ([], [])
    assert [(each["state"], each["usd"]) for each in records(folder / "results")] == [("rejected", 0.0)]


def test_a_test_of_the_network_has_the_curve_of_its_log(
    program: Program, folder: Path, jobs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Published: https://github.com/awslabs/awsome-distributed-ai, micro-benchmarks/nccl-tests/README.md at 0b55ba5f.
    published = (Path(__file__).parent / "recorded/nccl_tests_p4de.txt").read_text().splitlines()
    log = nccl_log.Log()
    for line in published:
        log.read(line)
    settings = nccl_test.parse(["--collective=all_reduce", "--efa-interfaces=4", "--", "all_reduce_perf"])
    line = files.results_line(nccl_test.brief(nccl_test.results(settings, log, [])))
    monkeypatch.setattr(cluster_runner, "read_log", lambda *_, **__: iter([*published, line]))
    sweep = SWEEP.replace("resnet50-p3dn", "nccl-p4d").replace("  nodes: [1, 2]", "  instance_type: [p4de.24xlarge]")
    (folder / "sweep.yaml").write_text(sweep)
    assert program(*RUN).code == 0
    (found,) = json.loads((folder / "results/summary.json").read_text())
    assert (found["figures"]["bus_bandwidth"], len(found["bandwidths"])) == (78.33, 29)
    assert found["bandwidths"][-8:-6] == [[2**24, 26.39], [2**25, 40.85]]
    report = (folder / "results/report.md").read_text()
    assert "| nccl-p4d | p4de.24xlarge | 16 | 78.33 |" in report
    assert "| 16 | 78.3 | 2 x p4de.24xlarge, 2 GiB |" in report
    # The smallest ones print 0.00 GB/s, which a logarithmic axis has no place for.
    picture = (folder / "results/bandwidth.svg").read_text()
    assert "nccl-p4d, instance_type" in picture
    curves = re.findall(r'<path d="([^"]*)" clip-path="[^"]*" style="fill: none; stroke', picture)
    # The published one begins at 16 MiB.
    assert sorted(len(re.findall("[ML]", each)) for each in curves)[-2:] == [8, 23]


@pytest.mark.parametrize(
    ("budget", "hours", "usd"),
    # The first one has the rest of the budget, the other three times the planned hours.
    [(0.02, 0.0005, 0.02), (100, 0.001, 0.003 * 31.212)],
)
def test_a_job_that_takes_too_long_is_cancelled(
    program: Program,
    cluster: FakeCluster,
    folder: Path,
    jobs: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    budget: float,
    hours: float,
    usd: float,
) -> None:
    add = cluster.add

    def never_ending(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        created = add(document, **metadata)
        created.pop("status", None)
        return created

    monkeypatch.setattr(cluster, "add", never_ending)
    # The clock of the fixture `cluster`, in which only pauses take time.
    monkeypatch.setattr(cluster_runner, "time", vars(polling)["time"])
    text = SWEEP.replace("budget: 100", f"budget: {budget}").replace("planned_hours: 0.5", f"planned_hours: {hours}")
    (folder / "sweep.yaml").write_text(text.replace("[1, 2]", "[1]"))
    result = program(*RUN)
    assert (result.code, len(jobs), left(cluster)) == (1, 1, [])
    (record,) = records(folder / "results")
    assert (record["state"], record["usd"]) == ("failed", pytest.approx(usd, abs=0.0002))
    said = f"cancelled after {usd / 31.212 * 3600:.0f} s: the rest of the budget, or three times planned_hours"
    assert record["reason"] == said
    assert said in (folder / "results/report.md").read_text()


def test_an_adopted_job_has_cost_since_it_was_created(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sweep.yaml").write_text(SWEEP.replace("[1, 2]", "[1]").replace("planned_hours: 0.5", "planned_hours: 2"))
    mine = f"bench-abc123-{names()[1]}-1-1"
    cluster.add(
        {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": {"name": mine, "labels": {"trainctl/sweep": "abc123"}},
            "spec": {},
        }
    ).pop("status")
    attempt = folder / f"results/{names()[1]}/1/attempt.json"
    attempt.parent.mkdir(parents=True)
    attempt.write_text(json.dumps({"number": 1, "job": mine, "usd_before": 0, "planned_usd": 62.424}))
    monkeypatch.setattr(cluster_runner, "time", vars(polling)["time"])
    # It was created on 2026-11-21 at 10:00.
    clock = type("Clock", (datetime,), {"now": classmethod(lambda *_: datetime(2026, 11, 21, 17, tzinfo=UTC))})
    monkeypatch.setattr(cluster_runner, "datetime", clock)
    assert program(*RUN).code == 1
    (record,) = records(folder / "results")
    # Seven hours; without them it would get the three that the budget of $100 pays for, again.
    assert (record["state"], record["usd"]) == ("failed", pytest.approx(7 * 31.212, rel=0.01))


def test_a_cluster_of_another_tool_needs_an_operator_and_nothing_else(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]]
) -> None:
    cluster.kinds = {name: kinds for name, kinds in cluster.kinds.items() if name != "apps/v1"}
    claim = "/api/v1/namespaces/team/persistentvolumeclaims/training-lustre"
    cluster.objects[claim.replace("training-lustre", "their-data")] = cluster.objects.pop(claim)
    (folder / "recipes.py").write_text(RECIPES.replace("SharedVolume()", "SharedVolume(claim='their-data')"))
    (folder / "sweep.yaml").write_text(SWEEP.replace("resnet50-p3dn", "fake"))
    result = program(*RUN)
    assert (result.code, len(jobs), left(cluster)) == (0, 2, [])
    assert [each["state"] for each in records(folder / "results")] == ["finished", "finished"]
    asked = {path.partition("/namespaces/team/")[2].split("/")[0].split("?")[0] for path in cluster.requests}
    assert asked - {""} == {"mpijobs", "jobs", "pods", "networkpolicies", "persistentvolumeclaims"}


def test_a_cluster_without_an_operator_is_a_sentence(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]]
) -> None:
    del cluster.kinds["kubeflow.org/v2beta1"]
    result = program(*RUN)
    assert (result.code, jobs) == (3, [])
    assert "install the operator with 'trainctl platform render'" in result.err
    assert "Traceback" not in result.err


def test_a_namespace_that_is_not_the_jobs_is_rejected(
    program: Program, cluster: FakeCluster, folder: Path, jobs: list[dict[str, Any]]
) -> None:
    result = program(*RUN, "--namespace", "other")
    assert result.code == 2
    assert "'--namespace' is 'other'" in result.err
    assert (jobs, left(cluster)) == ([], [])
