"""Kinds of objects that `submit` creates with a job."""

from pathlib import Path

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import FakeCluster

POD = "restartPolicy: Never, containers: [{name: stage, image: 'image:1'}]"
STAGE = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: stage}}, spec: {{template: {{spec: {{{POD}}}}}}}}}"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            "kind: ConfigMap, metadata: {name: aws-auth, namespace: kube-system}",
            "'kube-system', but no job",
        ),
        (
            "kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: token}",
            "'type' is 'kubernetes.io/service-account-token', but it gives who reads it the rights",
        ),
    ],
)
def test_an_object_that_reaches_beyond_the_job_is_rejected(
    program: Program, cluster: FakeCluster, tmp_path: Path, other: str, message: str
) -> None:
    (tmp_path / "job.yaml").write_text(f"{{apiVersion: v1, {other}}}\n---\n{STAGE}")
    result = program("submit", str(tmp_path / "job.yaml"))
    assert result.code == 2
    assert message in result.err


@pytest.mark.parametrize("namespace", ["kube-system", "kueue-system", "mpi-operator", "training-system"])
def test_a_job_among_the_pods_of_the_cluster_is_created_by_option_alone(
    program: Program, cluster: FakeCluster, tmp_path: Path, namespace: str
) -> None:
    cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    config = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: aws-auth, namespace: {namespace}}}}}"
    path = tmp_path / "job.yaml"
    path.write_text(f"{config}\n---\n{STAGE.replace('name: stage}', f'name: stage, namespace: {namespace}}}', 1)}")
    result = program("submit", str(path))
    assert result.code == 2
    assert f"'metadata.namespace' is '{namespace}', but pods of the cluster run there" in result.err
    assert not any("/jobs/" in address for address in cluster.objects)
    assert program("submit", str(path), "--any-kind").code == 0


@pytest.mark.parametrize(
    ("kind", "version"), [("ClusterRoleBinding", "rbac.authorization.k8s.io/v1"), ("Namespace", "v1"), ("Pod", "v1")]
)
def test_an_object_that_no_job_needs_is_created_by_option_alone(
    program: Program, cluster: FakeCluster, tmp_path: Path, kind: str, version: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: helpful}}}}\n---\n{STAGE}")
    result = program("submit", str(path))
    assert (result.code, result.err) == (
        2,
        f"error: {path}:1: 'kind' is '{kind}', but no job needs such an object; read it, and create it "
        "with 'kubectl apply -f' or add '--any-kind'\n",
    )
    assert not any("/jobs/" in address for address in cluster.objects)
    result = program("submit", str(path), "--any-kind")
    assert (result.code, result.out.splitlines()[0].split("'")[0]) == (0, f"created {kind} ")
