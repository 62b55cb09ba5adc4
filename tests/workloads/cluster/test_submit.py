from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster
from training_workloads import HorovodJobSpec, TorchElasticJobSpec
from training_workloads.rendering import render_jobs

MPI_JOBS = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/team/networkpolicies"
POD = "restartPolicy: Never, containers: [{name: stage, image: 'image:1'}]"
STAGE = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: stage}}, spec: {{template: {{spec: {{{POD}}}}}}}}}"


@pytest.fixture
def manifest(tmp_path: Path, job_spec: HorovodJobSpec) -> Path:
    """An MPIJob and its NetworkPolicy, as `render` writes them."""
    (path,), _ = render_jobs([job_spec], tmp_path)
    return path


def created(cluster: FakeCluster) -> list[str]:
    return [path for path in cluster.objects if "/mpijobs/" in path or "/networkpolicies/" in path]


def submit_text(program: Program, tmp_path: Path, text: str, *options: str) -> Any:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    return program("submit", str(path), *options)


@pytest.mark.usefixtures("claims")
def test_creates_the_policy_before_the_job(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    result = program("submit", str(manifest))
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "created NetworkPolicy 'job' in namespace 'team'",
        "created MPIJob 'job' in namespace 'team'",
        "next: trainctl logs -f job",
    ]
    assert created(cluster) == [f"{POLICIES}/job", f"{MPI_JOBS}/job"]
    changes = [request.partition("?") for request in cluster.requests if not request.startswith("GET")]
    dry = {"dryRun=All", "fieldManager=trainctl"}
    assert [(address, set(query.split("&"))) for address, _, query in changes] == [
        (f"PATCH {POLICIES}/job", dry),
        (f"POST {MPI_JOBS}", dry),
        *[("POST /api/v1/namespaces/team/pods", dry)] * 2,
        (f"PATCH {POLICIES}/job", dry - {"dryRun=All"}),
        (f"POST {MPI_JOBS}", dry - {"dryRun=All"}),
    ]


@pytest.mark.usefixtures("claims")
def test_creates_a_job_of_torchrun_after_its_store(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    spec = TorchElasticJobSpec(
        name="job", image="image:1", command=("train",), instance_type="p4d.24xlarge", workers=2, max_workers=4
    )
    (path,), _ = render_jobs([spec], tmp_path)
    result = program("submit", str(path))
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[-2:] == ["created Job 'job' in namespace 'team'", "next: trainctl logs -f job"]
    assert sorted(path.rpartition("team/")[2] for path in cluster.objects if "/job" in path) == [
        *("deployments/job-store", "jobs/job", "networkpolicies/job", "services/job", "services/job-store"),
    ]
    # The pods of the Job are tried before anything is created.
    assert sum(each.startswith("POST /api/v1/namespaces/team/pods?dryRun=All") for each in cluster.requests) == 1


@pytest.mark.usefixtures("claims")
def test_json_has_the_created_objects(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    result = program("submit", str(manifest), "--json")
    assert yaml.safe_load(result.out) == [
        {"kind": "NetworkPolicy", "name": "job", "namespace": "team"},
        {"kind": "MPIJob", "name": "job", "namespace": "team"},
    ]


@pytest.mark.usefixtures("claims")
def test_the_next_command_has_another_namespace(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "training-lustre", "namespace": "lab"},
    }
    cluster.add(claim)
    result = program("submit", str(manifest), "-n", "lab")
    assert result.out.splitlines()[-1] == "next: trainctl logs -f job -n lab"
    assert created(cluster) == [path.replace("/team/", "/lab/") for path in (f"{POLICIES}/job", f"{MPI_JOBS}/job")]


@pytest.mark.usefixtures("claims")
def test_never_overwrites_a_job(
    program: Program, cluster: FakeCluster, manifest: Path, mpi_job: Callable[..., dict[str, Any]]
) -> None:
    cluster.add(mpi_job("job", "Running"))
    result = program("submit", str(manifest))
    assert result.code == 2
    place, _, text = result.err.partition(": 'metadata.name' is ")
    assert place.startswith(f"error: {manifest}:")
    assert text == (
        "'job', but namespace 'team' has a job of that name, which is Running; delete that one with "
        "'trainctl cancel job', or render this one with another '--name'\n"
    )
    assert created(cluster) == [f"{MPI_JOBS}/job"]


@pytest.mark.usefixtures("claims")
def test_rejects_every_image_that_only_this_machine_has(
    program: Program, cluster: FakeCluster, job_spec: HorovodJobSpec, tmp_path: Path
) -> None:
    (path,), _ = render_jobs([job_spec.replaced(image="localhost/training:latest")], tmp_path)
    result = program("submit", str(path))
    assert result.code == 2
    lines = path.read_text().splitlines()
    for role, error in zip(("Launcher", "Worker"), result.err.splitlines(), strict=True):
        _, _, line, rest = error.split(":", maxsplit=3)
        assert lines[int(line) - 1].strip() == "image: localhost/training:latest"
        assert rest == (
            f" 'spec.mpiReplicaSpecs.{role}.template.spec.containers[0].image' is 'localhost/training:latest', but "
            "only this machine has it; push it to a registry, and render the job with '--image <its address>'"
        )
    assert created(cluster) == []


def test_rejects_a_missing_claim_before_anything_is_created(
    program: Program, cluster: FakeCluster, manifest: Path
) -> None:
    text = (
        "claimName' is 'training-lustre', but namespace 'team' does not have this PersistentVolumeClaim ({}); use "
        "namespace 'default' ('-n default'), for which the cluster's stack creates it, or write it for another one "
        "with 'trainctl platform render --lustre-… --namespace <namespace>'\n"
    )
    result = program("submit", str(manifest))
    assert (result.code, result.err.rpartition(".")[2]) == (2, text.format("it has none"))
    cluster.add({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "training-lustre-1"}})
    result = program("submit", str(manifest))
    close = "did you mean training-lustre-1? known: training-lustre-1"
    assert (result.code, result.err.rpartition(".")[2]) == (2, text.format(close))
    assert created(cluster) == []


@pytest.mark.parametrize(
    ("claim", "fix"),
    [
        (
            "training-efs",
            "use namespace 'default' ('-n default'), for which the cluster's stack creates it, or write it for "
            "another one with 'trainctl platform render --efs-… --namespace <namespace>'",
        ),
        ("home", "create it there, or give the namespace that has it with '--namespace'"),
    ],
)
def test_a_missing_claim_has_a_fix_of_its_kind(
    program: Program, cluster: FakeCluster, tmp_path: Path, claim: str, fix: str
) -> None:
    volume = f"{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}"
    text = STAGE.replace(POD, f"{POD}, volumes: [{volume}]")
    result = submit_text(program, tmp_path, text)
    assert result.code == 2
    assert result.err.endswith(f"; {fix}\n")


def test_a_claim_may_be_in_the_same_submission(
    program: Program, cluster: FakeCluster, manifest: Path, tmp_path: Path
) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: training-lustre}}")
    result = program("submit", str(manifest), str(claim))
    assert result.code == 0
    assert "created PersistentVolumeClaim 'training-lustre' in namespace 'team'" in result.out


def test_rejects_a_namespace_that_does_not_exist(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    result = program("submit", str(manifest), "--namespace=lab")
    assert result.code == 2
    assert result.err == (
        "error: '--namespace' is 'lab', but the cluster does not have it; run 'kubectl create namespace lab', or give "
        "another one\n"
    )
    # Or in the manifest, where that names it.
    result = submit_text(program, manifest.parent, STAGE.replace("name: stage}", "name: stage, namespace: lab}"))
    assert "job.yaml:1: 'metadata.namespace' is 'lab', but the cluster does not have it; run" in result.err


@pytest.mark.usefixtures("claims")
def test_needs_no_permission_to_read_namespaces(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    cluster.failures.append(Failure(403, "/api/v1/namespaces/team", "GET", times=1, message='User "u" cannot get'))
    assert program("submit", str(manifest)).code == 0


def test_rejects_an_object_of_another_namespace(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    text = STAGE.replace("name: stage}, spec", "name: stage, namespace: lab}, spec")
    result = submit_text(program, tmp_path, text, "-n", "team")
    assert result.code == 2
    assert result.err == (
        f"error: {tmp_path}/job.yaml:1: 'metadata.namespace' is 'lab', but '--namespace' is 'team'; omit the option, "
        "or render the job with that namespace\n"
    )


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("- 1", ["'apiVersion' is missing", "'kind' is missing", "'metadata.name' is missing"]),
        (
            "{apiVersion: v1, kind: Pod, metadata: {generateName: a}}",
            ["'metadata.name' is missing; give text, such as digits, without '/' and '%'"],
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: ..}}",
            ["'metadata.name' is '..'; give text, such as digits"],
        ),
        ("{apiVersion: v1, kind: Pod, metadata: {name: 5}}", ["'metadata.name' is 5; give text, such as digits"]),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: ''}}",
            ["'metadata.name' is ''; give text, such as digits"],
        ),
        (
            "{apiVersion: ../v1, kind: Pod, metadata: {name: a}}",
            ["'apiVersion' is '../v1'; give the version of an API, such as kubeflow.org/v2beta1"],
        ),
        (
            "{apiVersion: v1, kind: a b, metadata: {name: a}}",
            ["'kind' is 'a b'; give a kind of object, such as MPIJob"],
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ../b}}",
            ["'metadata.namespace' is '../b'; give lower-case letters"],
        ),
        ("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: 5}}", ["'metadata.namespace' is 5; give lower-c"]),
    ],
)
def test_rejects_documents_that_are_not_objects_of_the_api(
    program: Program, cluster: FakeCluster, tmp_path: Path, text: str, problems: list[str]
) -> None:
    result = submit_text(program, tmp_path, text)
    assert result.code == 2
    for line, problem in zip(result.err.splitlines(), problems, strict=True):
        assert line.startswith(f"error: {tmp_path}/job.yaml:1: {problem}")
    assert cluster.requests == []


def test_findings_are_reported_with_other_problems(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    text = "{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, metadata: {name: a/b}, spec: {slotsPerWorker: 0}}"
    result = submit_text(program, tmp_path, text)
    assert result.code == 2
    assert "spec.slotsPerWorker" in result.err
    assert result.err.splitlines()[-1].startswith(f"error: {tmp_path}/job.yaml:1: 'metadata.name' is 'a/b'; give text")
    assert cluster.requests == []


@pytest.mark.usefixtures("claims")
def test_an_error_of_the_lint_stops_and_a_warning_does_not(
    program: Program, cluster: FakeCluster, manifest: Path
) -> None:
    documents = list(yaml.safe_load_all(manifest.read_text()))
    (job,) = [each for each in documents if each["kind"] == "MPIJob"]
    job["spec"]["runPolicy"].pop("cleanPodPolicy")
    manifest.write_text(yaml.safe_dump_all(documents))
    result = program("submit", str(manifest))
    assert (result.code, result.out.splitlines()[-1]) == (0, "next: trainctl logs -f job")
    assert result.err.startswith(f"{manifest}:")
    assert ": warning: spec.runPolicy" in result.err
    job["metadata"]["name"] = "Job"
    manifest.write_text(yaml.safe_dump_all(documents))
    before = created(cluster)
    result = program("submit", str(manifest))
    assert (result.code, result.out, created(cluster)) == (2, "", before)
    assert ": error: metadata.name: " in result.err
    assert result.err.endswith("error: nothing was submitted; fix the 1 error first\n")


ROLES = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: digits}
spec:
  runPolicy:
    cleanPodPolicy: Running
    schedulingPolicy: {minResources: {cpu: 2}}
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers: [{name: launcher, image: "training:1", command: [mpirun, -np, "16", train]}]
    Worker:
      replicas: 2
      template:
        metadata: {annotations: {size: "1"}}
        spec:
          containers:
          - name: worker
            image: training:1
            command: [/usr/sbin/sshd, -De]
            env: [{name: A, value: "1"}]
            resources: {limits: {memory: 8Gi}}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "path", "text"),
    [
        (
            "8Gi",
            "8GiB",
            ".mpiReplicaSpecs.Worker.template.spec.containers[0].resources.limits.memory",
            "'8GiB', but it is not an amount of Kubernetes; write 8Gi",
        ),
        (
            "[/usr/sbin/sshd, -De]",
            "/usr/sbin/sshd -De",
            ".mpiReplicaSpecs.Worker.template.spec.containers[0].command",
            "'/usr/sbin/sshd -De', but the field takes a list; give a list, such as ['/usr/sbin/sshd', '-De']",
        ),
        (
            "replicas: 2",
            "replicas: 50000000",
            ".mpiReplicaSpecs.Worker.replicas",
            "50000000, but Kubernetes supports 5000 nodes, and the MPI operator keeps all workers in memory; give "
            "5000 or fewer",
        ),
        (
            'value: "1"',
            "value: 1",
            ".mpiReplicaSpecs.Worker.template.spec.containers[0].env[0].value",
            "1, but the field takes text; write it in quotes",
        ),
        (
            'size: "1"',
            "size: 1",
            ".mpiReplicaSpecs.Worker.template.metadata.annotations.size",
            "1, but the field takes text; write it in quotes",
        ),
        (
            "cpu: 2",
            "cpu: lots",
            ".runPolicy.schedulingPolicy.minResources.cpu",
            "'lots', but it is not an amount of Kubernetes; give one such as 4, 500m or 512Mi",
        ),
    ],
)
def test_rejects_what_would_stop_the_operator_for_everyone(
    program: Program, cluster: FakeCluster, tmp_path: Path, right: str, wrong: str, path: str, text: str
) -> None:
    assert ROLES.count(right) == 1
    manifest = ROLES.replace(right, wrong)
    result = submit_text(program, tmp_path, manifest)
    line = 1 + next(number for number, each in enumerate(manifest.splitlines()) if wrong in each)
    errors = [each for each in result.err.splitlines() if f"spec{path}" in each and "error: " in each]
    # One line for one mistake: not the lint's, too. The cluster, with an older definition, would accept it.
    assert (result.code, errors) == (2, [f"error: {tmp_path}/job.yaml:{line}: 'spec{path}' is {text}"])
    assert cluster.requests == []
    assert f"spec{path}" not in submit_text(program, tmp_path, ROLES).err


def test_reads_a_list_and_a_date_as_kubernetes_does(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    job = STAGE.replace("name: stage}, spec", "name: stage, annotations: {day: 2026-11-21}}, spec")
    result = submit_text(program, tmp_path, f"{{apiVersion: v1, kind: List, items: [{job}]}}")
    assert (result.code, result.out.splitlines()[0]) == (0, "created Job 'stage' in namespace 'team'")
    stored = cluster.objects["/apis/batch/v1/namespaces/team/jobs/stage"]
    assert stored["metadata"]["annotations"] == {"day": "2026-11-21"}


def test_rejects_manifests_without_a_job(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    result = submit_text(program, tmp_path, "{apiVersion: v1, kind: Service, metadata: {name: board}}")
    assert (result.code, result.err) == (
        2,
        f"error: 'FILE' is '{tmp_path}/job.yaml', but it contains Service, and only an MPIJob, a Job or a TrainJob "
        "runs; use 'kubectl apply -f' for other objects\n",
    )


@pytest.mark.parametrize("version", ["v1", "ray.io/v1"])
def test_a_kind_that_the_cluster_does_not_know(
    program: Program, cluster: FakeCluster, tmp_path: Path, version: str
) -> None:
    result = submit_text(program, tmp_path, f"{{apiVersion: {version}, kind: Raycluster, metadata: {{name: a}}}}")
    assert result.code == 3
    assert result.err.startswith(f"error: the cluster does not know Raycluster ({version}); ")


@pytest.mark.usefixtures("claims")
def test_a_dry_run_finds_what_the_cluster_rejects(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    cluster.failures.append(Failure(422, "mpijobs", "POST", message='MPIJob "job" is invalid: spec.slotsPerWorker'))
    result = program("submit", str(manifest))
    assert result.code == 3
    assert result.err.endswith("namespace 'team': MPIJob \"job\" is invalid: spec.slotsPerWorker\n")
    assert created(cluster) == []


@pytest.mark.usefixtures("claims")
def test_never_overwrites_a_field_of_another_manager(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    cluster.failures.append(Failure(409, "networkpolicies", "PATCH", message="Apply failed with 1 conflict: .spec"))
    result = program("submit", str(manifest))
    message = "error: NetworkPolicy 'job' in namespace 'team' cannot be created: Apply failed with 1 conflict: .spec\n"
    assert (result.code, result.err) == (3, message)


@pytest.mark.usefixtures("claims")
def test_a_failure_reports_what_was_created_before(program: Program, cluster: FakeCluster, manifest: Path) -> None:
    # The dry run succeeds; the second request to create the job does not.
    cluster.failures.append(Failure(503, MPI_JOBS, "POST", skipped=1, message="overloaded"))
    result = program("submit", str(manifest))
    assert result.code == 3
    assert result.out == "created NetworkPolicy 'job' in namespace 'team'\n"
    first, second = result.err.splitlines()
    assert "(503: overloaded)" in first
    assert second == "on the cluster already: NetworkPolicy 'job' in namespace 'team'"


def test_a_folder_stands_for_its_manifests(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("b.yml", "a.yaml", "c.json", "README.md", "inner/d.yaml"):
        (tmp_path / name).write_text(STAGE.replace("stage", Path(name).stem))
    result = program("submit", str(tmp_path), str(tmp_path / "a.yaml"))
    assert (result.code, result.err) == (0, "")
    created = [line for line in result.out.splitlines() if line.startswith("created")]
    assert created == [f"created Job '{name}' in namespace 'team'" for name in "abc"]


def test_recursive_reads_folders_at_any_depth(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "one/two/d.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(STAGE)
    assert program("submit", "-R", str(tmp_path)).out.startswith("created Job 'stage'")


def test_reports_every_file_that_cannot_be_submitted(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    folder, empty, missing, good = (tmp_path / name for name in ("jobs", "empty", "no.yaml", "good.yaml"))
    for each in (folder, empty):
        each.mkdir()
    good.write_text(STAGE)
    (folder / "a.yaml").write_text("")
    (folder / "b.yaml").write_bytes(b"\xff\xfe\x00")
    result = program("submit", *map(str, (folder, empty, missing, good)))
    assert (result.code, result.out) == (2, "")
    errors = result.err.splitlines()
    assert len(errors) == 4
    for place in (empty, missing, f"{folder}/b.yaml"):
        assert sum(str(place) in error for error in errors) == 1
    assert errors[-1] == (
        f"error: 'FILE' is '{folder}/a.yaml', but it contains no object; give a manifest, such as one that "
        "'trainctl render' wrote"
    )
    assert cluster.requests == []
