from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import FakeCluster
from training_workloads import HorovodJobSpec, NcclTestJobSpec, TorchElasticJobSpec
from training_workloads.rendering import render_jobs

MPI_JOBS = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs"
STAGE = """
apiVersion: batch/v1
kind: Job
metadata: {name: stage}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: stage, image: 'image:1', command: [sleep]}]}}}
"""

pytestmark = pytest.mark.usefixtures("claims")


def rendered(folder: Path, spec: Any) -> Path:
    (path,), _ = render_jobs([spec], folder)
    return path


def launcher(cluster: FakeCluster, name: str = "job") -> list[str]:
    replicas = cluster.objects[f"{MPI_JOBS}/{name}"]["spec"]["mpiReplicaSpecs"]
    words: list[str] = replicas["Launcher"]["template"]["spec"]["containers"][0]["command"]
    return words[: words.index("--")]


def options(words: list[str]) -> list[tuple[str, str]]:
    return [(word, words[place + 1]) for place, word in enumerate(words) if word in ("--max-cost", "--usd-per-hour")]


def test_a_job_gets_a_cap_when_it_is_submitted(
    program: Program, cluster: FakeCluster, tmp_path: Path, job_spec: HorovodJobSpec
) -> None:
    spec = job_spec.replaced(instance_type="p4d.24xlarge", workers=2)
    path = rendered(tmp_path, spec)
    text = path.read_text()
    assert program("submit", str(path), "--max-cost", "500").code == 0
    assert sorted(options(launcher(cluster))) == [("--max-cost", "500"), ("--usd-per-hour", "21.9576")]
    assert path.read_text() == text


def test_it_replaces_that_of_the_manifest(
    program: Program, cluster: FakeCluster, tmp_path: Path, job_spec: HorovodJobSpec
) -> None:
    spec = job_spec.replaced(instance_type="p4d.24xlarge", workers=2, max_cost=500)
    assert program("submit", str(rendered(tmp_path, spec)), "--max-cost", "800.5").code == 0
    assert sorted(options(launcher(cluster))) == [("--max-cost", "800.5"), ("--usd-per-hour", "21.9576")]


def test_the_agent_of_torchrun_counts_for_all_workers(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    spec = TorchElasticJobSpec(
        name="job", image="image:1", command=("train",), instance_type="p4d.24xlarge", workers=2, max_cost=500
    )
    assert program("submit", str(rendered(tmp_path, spec)), "--max-cost", "800").code == 0
    job = cluster.objects["/apis/batch/v1/namespaces/team/jobs/job"]
    words = job["spec"]["template"]["spec"]["containers"][0]["command"]
    assert words[:8] == [
        *("python", "-m", "training.pods.torch_agent"),
        *("--max-cost", "800", "--usd-per-hour", "43.9153", "--"),
    ]


def test_an_nccl_test_has_a_launcher_that_counts(program: Program, cluster: FakeCluster, tmp_path: Path) -> None:
    spec = NcclTestJobSpec(name="nccl", image="image:1", instance_type="p4d.24xlarge")
    assert program("submit", str(rendered(tmp_path, spec)), "--max-cost", "20").code == 0
    assert ("--max-cost", "20") in options(launcher(cluster, "nccl"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0", "'--max-cost' is 0.0; give a number above 0"),
        ("-1", "'--max-cost' is -1.0; give a number above 0"),
        ("nan", "'--max-cost' is 'nan'; give a number, such as 2500 or 0.5"),
        ("$500", "'--max-cost' is '$500'; give a number, such as 2500 or 0.5"),
        ("0.1", "'--max-cost' is 0.1, but a minute of 2 x 8 GPUs of p4d.24xlarge costs $0.73; give dollars for"),
    ],
)
def test_rejects_other_amounts(
    value: str, message: str, program: Program, cluster: FakeCluster, tmp_path: Path, job_spec: HorovodJobSpec
) -> None:
    spec = job_spec.replaced(instance_type="p4d.24xlarge", workers=2)
    result = program("submit", str(rendered(tmp_path, spec)), "--max-cost", value)
    assert (result.code, f"{MPI_JOBS}/job" in cluster.objects) == (2, False)
    assert message in result.err


def test_a_job_that_nothing_counts_is_rejected(program: Program, tmp_path: Path, job_spec: HorovodJobSpec) -> None:
    stage = tmp_path / "stage.yaml"
    stage.write_text(STAGE)
    result = program("submit", str(stage), "--max-cost", "5")
    assert result.code == 2
    assert "'--max-cost' is 5.0, but nothing in Job 'stage' counts what it costs; submit it without" in result.err
    path = rendered(tmp_path, job_spec)
    path.write_text(path.read_text().replace("training.pods.launcher", "other.launcher"))
    assert "nothing in MPIJob 'job' counts" in program("submit", str(path), "--max-cost", "5").err


def test_workers_of_any_type_have_no_price(program: Program, tmp_path: Path, job_spec: HorovodJobSpec) -> None:
    path = rendered(tmp_path, job_spec)
    path.write_text(path.read_text().replace("node.kubernetes.io/instance-type", "example.com/type"))
    result = program("submit", str(path), "--max-cost", "5")
    assert "but the workers of MPIJob 'job' name no one instance type of the catalog, with GPUs; give" in result.err


def test_files_without_a_job_have_nothing_to_limit(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "claim.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
    result = program("submit", str(path), "--max-cost", "5")
    assert result.code == 2
    words = "'--max-cost' is 5.0, but the files have no job, whose cost it limits; omit it, or add the manifest"
    assert words in result.err
