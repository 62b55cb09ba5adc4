"""What a newcomer types or meets: each is a sentence that says what to do, and none a traceback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster, Log
from training_workloads.cluster.resources import MPI_JOBS

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

JOB = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/digits"
STAGE = "{apiVersion: batch/v1, kind: Job, metadata: {name: stage}, spec: {}}"


@pytest.mark.parametrize("name", ["", "../../x", "..", "Digits", "a/b", "a%2fb"])
@pytest.mark.parametrize(
    "command", [("status",), ("logs",), ("logs", "-f"), ("wait",), ("cancel",), ("cancel", "digits"), ("scale",)]
)
def test_what_no_job_can_be_called_is_not_asked_for(
    program: Program, cluster: FakeCluster, command: tuple[str, ...], name: str
) -> None:
    result = program(*command, name, *["3"] * (command == ("scale",)))
    message = f"error: 'NAME' is '{name}'; give the name of a job, as 'training-workloads list' shows it\n"
    assert (result.code, result.out, result.err) == (2, "", message)
    assert cluster.requests == []


@pytest.mark.parametrize("namespace", ["", "..", "Team"])
def test_what_no_namespace_can_be_called(program: Program, cluster: FakeCluster, namespace: str) -> None:
    rule = "lower-case letters, digits and '-', at most 63"
    for command in (("list",), ("status", "digits"), ("cancel", "digits"), ("submit", "job.yaml")):
        result = program(*command, "-n", namespace)
        assert (result.code, result.err) == (2, f"error: '--namespace' is '{namespace}'; give {rule}\n")
    assert cluster.requests == []


def test_a_name_is_one_part_of_an_address() -> None:
    root = "/apis/kubeflow.org/v2beta1/namespaces"
    assert MPI_JOBS.path("team") == f"{root}/team/mpijobs"
    assert MPI_JOBS.path("team", "") == f"{root}/team/mpijobs/"
    assert MPI_JOBS.path("a/b", "x/../y?z") == f"{root}/a%2Fb/mpijobs/x%2F..%2Fy%3Fz"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("apiVersion: v1, kind: Pod, metadata: {name: ..}", "metadata.name '..'; give a name without '/' and '%'"),
        ("apiVersion: v1, kind: Pod, metadata: {name: ''}", "metadata.name ''; give a name without '/' and '%'"),
        ("apiVersion: ../v1, kind: Pod, metadata: {name: a}", "apiVersion '../v1'; give a version of an API, such as"),
        ("apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ../b}", "metadata.namespace '../b'; give lower"),
        ("apiVersion: v1, kind: Pod, metadata: {name: a, namespace: 5}", "metadata.namespace 5; give lower-case"),
    ],
)
def test_a_manifest_that_would_lead_elsewhere(
    program: Program, cluster: FakeCluster, tmp_path: Path, document: str, told: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(f"{{{document}}}")
    result = program("submit", str(path))
    assert result.code == 2
    assert result.err.startswith(f"error: 'file' is '{path}', whose document 1 has the {told}")
    assert cluster.requests == []


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (200, b"<!DOCTYPE html><title>Sign in</title>"),
        (200, b'{"status": "ok"}'),
        (200, b"[]"),
        (200, b""),
        (302, b"moved"),
        (403, b"\n<html>Blocked</html>"),
        (404, b"<html>Not found</html>"),
    ],
)
@pytest.mark.parametrize("command", [("list",), ("status", "digits"), ("wait", "digits")])
def test_something_else_than_kubernetes_answers(
    program: Program, cluster: FakeCluster, code: int, body: bytes, command: tuple[str, ...]
) -> None:
    cluster.page = (code, body)
    result = program(*command)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("error: http://127.0.0.1:")
    assert result.err.endswith(
        " answered with something that is not Kubernetes, such as a login page; check the VPN and the proxy "
        "(HTTPS_PROXY, NO_PROXY), and the server in the kubeconfig\n"
    )


def test_a_kind_that_is_not_there_is_told_as_the_manifest_names_it(
    program: Program, cluster: FakeCluster, tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}}")
    del cluster.kinds["networking.k8s.io/v1"]
    result = program("submit", str(path))
    assert (result.code, result.err) == (
        3,
        "error: the cluster knows no NetworkPolicy (networking.k8s.io/v1); install what defines it, or leave it out of "
        "the file\n",
    )


@pytest.mark.parametrize(
    ("claim", "advice"),
    [
        (
            "training-efs",
            "The cluster's stack makes it in namespace 'default' ('-n default'); 'training-workloads platform --efs-… "
            "--namespace <namespace>' writes it for another one",
        ),
        ("home", "Make it there, or give the namespace that has it with '--namespace'"),
    ],
)
def test_a_claim_that_is_not_there(
    program: Program, cluster: FakeCluster, tmp_path: Path, claim: str, advice: str
) -> None:
    path = tmp_path / "job.yaml"
    volume = f"{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}"
    path.write_text(STAGE.replace("spec: {}", f"spec: {{template: {{spec: {{volumes: [{volume}]}}}}}}"))
    result = program("submit", str(path))
    assert result.code == 2
    assert result.err.endswith(f"so they would never start; it has none. {advice}\n")


@pytest.mark.parametrize(("given", "told"), [("1", "1s"), ("1s", "1s"), ("0m", "0s")])
def test_the_time_that_is_over_has_a_unit(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, given: str, told: str
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    result = program("wait", "digits", "--timeout", given, "--json")
    assert (result.code, json.loads(result.out)["state"]) == (4, "Running")
    assert result.err.startswith(f"error: 'digits' has not ended within {told}; job 'digits' still runs")


def test_a_pipe_is_told_what_is_waited_for(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod
) -> None:
    def finish() -> None:
        cluster.objects[JOB]["status"]["conditions"].append({"type": "Succeeded", "status": "True"})

    cluster.add(mpi_job("digits", "Created"))
    cluster.logs["digits-launcher-a"] = Log([("2026-11-21T10:02:00.000000000Z", "one")], at_end=finish)
    cluster.before_get[JOB] = [
        lambda: None,
        lambda: None,
        lambda: cluster.add(pod("digits-worker-0", "worker")) and None,
        lambda: None,
        lambda: cluster.add(pod("digits-launcher-a", "launcher")) and None,
    ]
    result = program("logs", "-f", "digits")
    assert (result.code, result.out) == (0, "one\n")
    notes = [line for line in result.err.splitlines() if line.startswith("note")]
    assert notes == ["note: waiting for 2 workers, 0 ready", "note: waiting for 2 workers, 1 ready"]


@pytest.mark.parametrize(
    ("workers", "told"),
    [
        (0, "no workers now; leave the option out for the launcher's log"),
        (1, "only worker 0"),
        (3, "the workers 0 to 2"),
    ],
)
def test_a_worker_that_the_job_does_not_have(
    program: Program, cluster: FakeCluster, mpi_job: MpiJob, workers: int, told: str
) -> None:
    job = mpi_job("digits", "Running")
    job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = workers
    cluster.add(job)
    result = program("logs", "digits", "--worker=7")
    assert (result.code, result.err) == (2, f"error: '--worker' is 7; 'digits' has {told}\n")


@pytest.mark.parametrize("workers", ["many", "1.5", ""])
def test_a_number_of_workers_that_is_none(program: Program, cluster: FakeCluster, workers: str) -> None:
    result = program("scale", "digits", workers)
    assert (result.code, result.err) == (2, f"error: 'WORKERS' is '{workers}'; give a whole number\n")


def test_a_folder_is_submitted_by_its_manifests(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "README.md"):
        (tmp_path / name).write_text(STAGE.replace("stage", name[0]))
    (tmp_path / "inner.yaml").mkdir()
    result = program("submit", str(tmp_path), str(tmp_path / "a.yaml"))
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[:3] == [f"created Job '{name}' in namespace 'team'" for name in "abc"]
    assert sum(line.startswith("created") for line in result.out.splitlines()) == 3


def test_every_file_that_cannot_be_submitted_is_told(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    folder, empty, missing, good = (tmp_path / name for name in ("jobs", "empty", "no.yaml", "good.yaml"))
    for each in (folder, empty):
        each.mkdir()
    good.write_text(STAGE)
    (folder / "a.yaml").write_text("")
    (folder / "b.yaml").write_bytes(b"\xff\xfe\x00")
    result = program("submit", *map(str, (folder, empty, missing, good)))
    assert (result.code, result.out) == (2, "")
    assert sorted(result.err.splitlines()) == sorted(
        [
            f"error: 'file' is '{empty}', a folder without .yaml, .yml, .json files; give manifests",
            f"error: 'file' is '{folder}/a.yaml', which holds nothing; give a file that 'training-workloads render' "
            "wrote",
            f"error: 'file' is '{folder}/b.yaml', which is not text; give a manifest",
            f"error: 'file' is '{missing}', which does not exist; 'training-workloads render' writes manifests into "
            "dist/jobs",
        ]
    )
    assert cluster.requests == []


def test_a_file_that_may_not_be_read(
    program: Program, cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(STAGE)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    result = program("submit", str(path))
    message = f"error: 'file' is '{path}', which cannot be read (Permission denied); give a manifest\n"
    assert (result.code, result.err) == (2, message)


def test_a_gateway_that_is_away_is_no_other_server(program: Program, cluster: FakeCluster) -> None:
    cluster.failures.append(Failure(502, message="<html>Bad gateway</html>"))
    result = program("list")
    assert result.code == 3
    assert result.err.startswith("error: the cluster answered with an error of its own (502: ")
