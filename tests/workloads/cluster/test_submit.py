import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster
from training_workloads import HorovodJobSpec
from training_workloads.rendering import render_jobs

MPI_JOBS = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/team/networkpolicies"


@pytest.fixture
def manifest(tmp_path: Path, job_spec: HorovodJobSpec) -> Path:
    """What `render` writes for a job: an MPIJob and its NetworkPolicy."""
    (path,), _ = render_jobs([job_spec], tmp_path)
    return path


@pytest.fixture
def claims(cluster: FakeCluster) -> None:
    for name in ("training-lustre", "home"):
        cluster.add({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}})


def made(cluster: FakeCluster) -> list[str]:
    return [path for path in cluster.objects if "/mpijobs/" in path or "/networkpolicies/" in path]


@pytest.mark.usefixtures("claims")
def test_what_comes_along_is_made_before_the_job(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    result = program("submit", str(manifest))
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "created NetworkPolicy 'job' in namespace 'team'",
        "created MPIJob 'job' in namespace 'team'",
        "next: training-workloads logs -f job",
    ]
    assert made(cluster) == [f"{POLICIES}/job", f"{MPI_JOBS}/job"]
    changes = [request for request in cluster.requests if not request.startswith("GET")]
    assert changes == [
        f"PATCH {POLICIES}/job?fieldManager=training-workloads&dryRun=All",
        f"POST {MPI_JOBS}?fieldManager=training-workloads&dryRun=All",
        f"PATCH {POLICIES}/job?fieldManager=training-workloads",
        f"POST {MPI_JOBS}?fieldManager=training-workloads",
    ]


@pytest.mark.usefixtures("claims")
def test_json_names_what_was_made(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    result = program("submit", str(manifest), "--json")
    assert yaml.safe_load(result.out) == [
        {"kind": "NetworkPolicy", "name": "job", "namespace": "team"},
        {"kind": "MPIJob", "name": "job", "namespace": "team"},
    ]


@pytest.mark.usefixtures("claims")
def test_another_namespace_stands_in_the_next_command(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "training-lustre", "namespace": "lab"},
    }
    cluster.add(claim)
    result = program("submit", str(manifest), "-n", "lab")
    assert result.out.splitlines()[-1] == "next: training-workloads logs -f job -n lab"
    assert made(cluster) == [path.replace("/team/", "/lab/") for path in (f"{POLICIES}/job", f"{MPI_JOBS}/job")]


@pytest.mark.usefixtures("claims")
def test_a_job_is_never_written_over(
    program: Program, cluster: FakeCluster, manifest: Path, mpi_job: Callable[..., dict[str, Any]]
) -> None:
    cluster.add(mpi_job("job", "Running"))
    result = program("submit", str(manifest))
    assert result.code == 2
    assert result.err == (
        "error: MPIJob 'job' in namespace 'team' cannot be made: a job of that name exists, and is Running; "
        "'training-workloads cancel job' removes it, or render this one with another '--name'\n"
    )
    assert made(cluster) == [f"{MPI_JOBS}/job"]


@pytest.mark.usefixtures("claims")
def test_an_image_that_only_this_machine_has(
    program: Program, cluster: FakeCluster, job_spec: HorovodJobSpec, tmp_path: Path
) -> None:
    (path,), _ = render_jobs([dataclasses.replace(job_spec, image="localhost/training:latest")], tmp_path)
    result = program("submit", str(path))
    assert (result.code, result.err) == (
        2,
        "error: MPIJob 'job' in namespace 'team' has the image 'localhost/training:latest', which only this machine "
        "has; push it to a registry, and render the job with '--image <its address>'\n",
    )
    assert made(cluster) == []


def test_a_claim_that_is_not_there_is_found_before_anything_is_made(
    program: Program, cluster: FakeCluster, manifest: Path
) -> None:
    beginning = (
        "error: the pods mount the PersistentVolumeClaim 'training-lustre', which namespace 'team' does not have, "
        "so they would never start; "
    )
    advice = (
        "The cluster's stack makes it in namespace 'default' ('-n default'); 'training-workloads platform --lustre-… "
        "--namespace <namespace>' writes it for another one"
    )
    result = program("submit", str(manifest))
    assert (result.code, result.err) == (2, f"{beginning}it has none. {advice}\n")
    cluster.add({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "training-lustre-1"}})
    result = program("submit", str(manifest))
    close = "did you mean training-lustre-1? known: training-lustre-1"
    assert (result.code, result.err) == (2, f"{beginning}{close}. {advice}\n")
    assert made(cluster) == []


def test_a_claim_may_come_with_the_job(program: Program, cluster: FakeCluster, manifest: Path, tmp_path: Path) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: training-lustre}}")
    result = program("submit", str(manifest), str(claim))
    assert result.code == 0
    assert "created PersistentVolumeClaim 'training-lustre' in namespace 'team'" in result.out


def test_a_namespace_that_is_not_there(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    result = program("submit", str(manifest), "--namespace=lab")
    assert result.code == 2
    assert result.err == (
        "error: 'namespace' is 'lab', which the cluster does not have; 'kubectl create namespace lab' makes it, or "
        "give another with '--namespace'\n"
    )


@pytest.mark.usefixtures("claims")
def test_who_may_not_look_at_namespaces_submits_all_the_same(
    program: Program, cluster: FakeCluster, manifest: Path
) -> None:
    cluster.failures.append(Failure(403, "/api/v1/namespaces/team", "GET", times=1, message='User "u" cannot get'))
    assert program("submit", str(manifest)).code == 0


@pytest.mark.usefixtures("claims")
def test_a_document_of_another_namespace_is_refused(
    program: Program, cluster: FakeCluster, tmp_path: Path, job_spec: HorovodJobSpec
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("{apiVersion: batch/v1, kind: Job, metadata: {name: stage, namespace: lab}, spec: {}}")
    result = program("submit", str(path), "-n", "team")
    assert result.code == 2
    assert result.err == (
        "error: '--namespace' is 'team' but Job 'stage' says 'lab'; leave the option out, or render the job with that "
        "namespace\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "which does not exist; 'training-workloads render' writes manifests into dist/jobs"),
        ("", "which holds nothing; give a file that 'training-workloads render' wrote"),
        ("---\n- 1", "whose document 1 is no Kubernetes object; each needs 'apiVersion', 'kind' and 'metadata.name'"),
        ("{apiVersion: v1, kind: Pod, metadata: {generateName: a}}", "whose document 1 is no Kubernetes object; each"),
        ("a: [", "which is not YAML: line 1: expected the node content"),
    ],
)
def test_a_file_that_cannot_be_submitted(program: Program, tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "job.yaml"
    if text is not None:
        path.write_text(text)
    result = program("submit", str(path))
    assert result.code == 2
    assert result.err.startswith(f"error: 'file' is '{path}', {message}")


@pytest.mark.usefixtures("claims")
def test_an_error_of_the_lint_stops_and_a_warning_does_not(
    program: Program, cluster: FakeCluster, manifest: Path
) -> None:
    documents = list(yaml.safe_load_all(manifest.read_text()))
    (job,) = [each for each in documents if each["kind"] == "MPIJob"]
    job["spec"]["runPolicy"].pop("cleanPodPolicy")
    manifest.write_text(yaml.safe_dump_all(documents))
    result = program("submit", str(manifest))
    assert (result.code, result.out.splitlines()[-1]) == (0, "next: training-workloads logs -f job")
    assert result.err.startswith(f"{manifest}:")
    assert ": warning: spec.runPolicy" in result.err
    job["metadata"]["name"] = "Job"
    manifest.write_text(yaml.safe_dump_all(documents))
    before = made(cluster)
    result = program("submit", str(manifest))
    assert (result.code, result.out, made(cluster)) == (2, "", before)
    assert ": error: metadata.name: " in result.err
    ending = "error: nothing was submitted because of 1 error in the manifests; mend what is told\n"
    assert result.err.endswith(ending)


def test_a_list_and_a_date_are_read_as_kubernetes_reads_them(
    program: Program, cluster: FakeCluster, tmp_path: Path
) -> None:
    path = tmp_path / "jobs.yaml"
    job = "{apiVersion: batch/v1, kind: Job, metadata: {name: stage, annotations: {day: 2026-11-21}}, spec: {}}"
    path.write_text(f"{{apiVersion: v1, kind: List, items: [{job}]}}")
    result = program("submit", str(path))
    assert (result.code, result.out.splitlines()[0]) == (0, "created Job 'stage' in namespace 'team'")
    stored = cluster.objects["/apis/batch/v1/namespaces/team/jobs/stage"]
    assert stored["metadata"]["annotations"] == {"day": "2026-11-21"}


def test_a_file_without_a_job(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "service.yaml"
    path.write_text("{apiVersion: v1, kind: Service, metadata: {name: board}}")
    result = program("submit", str(path))
    message = "error: 'file' holds Service, and no MPIJob or Job to run; 'kubectl apply -f' takes such files\n"
    assert (result.code, result.err) == (2, message)


def test_kinds_that_the_cluster_does_not_know(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    for version in ("v1", "ray.io/v1"):
        path.write_text(f"{{apiVersion: {version}, kind: Raycluster, metadata: {{name: a}}}}")
        result = program("submit", str(path))
        assert result.code == 3
        assert result.err.startswith("error: the cluster knows no ")
        assert "aycluster" in result.err


@pytest.mark.usefixtures("claims")
def test_what_the_cluster_would_refuse_is_found_by_a_dry_run(
    program: Program, cluster: FakeCluster, manifest: Path
) -> None:
    cluster.failures.append(Failure(422, "mpijobs", "POST", message='MPIJob "job" is invalid: spec.slotsPerWorker'))
    result = program("submit", str(manifest))
    assert (result.code, result.err) == (
        3,
        "error: the cluster refuses to create mpijobs.kubeflow.org in namespace 'team': MPIJob \"job\" is invalid: "
        "spec.slotsPerWorker\n",
    )
    assert made(cluster) == []


@pytest.mark.usefixtures("claims")
def test_a_field_that_somebody_else_set_is_not_written_over(
    program: Program, cluster: FakeCluster, manifest: Path
) -> None:
    cluster.failures.append(Failure(409, "networkpolicies", "PATCH", message="Apply failed with 1 conflict: .spec"))
    result = program("submit", str(manifest))
    message = "error: NetworkPolicy 'job' in namespace 'team' cannot be made: Apply failed with 1 conflict: .spec\n"
    assert (result.code, result.err) == (3, message)


@pytest.mark.usefixtures("claims")
def test_what_was_made_before_a_failure_is_told(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    # The dry run passes; the second request to make the job does not.
    cluster.failures.append(Failure(503, MPI_JOBS, "POST", skipped=1, message="overloaded"))
    result = program("submit", str(manifest))
    assert result.code == 3
    assert result.out == "created NetworkPolicy 'job' in namespace 'team'\n"
    assert result.err == (
        "error: the cluster answered with an error of its own (503: overloaded); try again\n"
        "on the cluster already: NetworkPolicy 'job' in namespace 'team'\n"
    )
