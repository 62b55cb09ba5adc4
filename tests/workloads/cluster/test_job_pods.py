"""What the namespace says about a job's pods, before the job exists."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workloads.cluster.conftest import Program, Result
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster
from training_workloads.cluster.job_pods import job_pods

NAMESPACE = "/api/v1/namespaces/team"
PODS = f"{NAMESPACE}/pods"
Submit = Callable[..., Result]

LAUNCHER, WORKER = (f"spec.mpiReplicaSpecs.{role}.template" for role in ("Launcher", "Worker"))
RESTRICTED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def mpi_job(worker: dict[str, Any] | None = None, **launcher: Any) -> dict[str, Any]:
    """An MPIJob whose pods fit into every namespace, with changes of its templates."""
    run = {"name": "launcher", "image": "training:1", "command": ["mpirun", "-np", "2", "--bind-to", "none", "train"]}
    sshd = {"name": "worker", "image": "training:1", "command": ["sshd", "-De"]}
    templates = [
        {"spec": {"containers": [{**container, "securityContext": RESTRICTED}], **change}}
        for container, change in ((run, launcher), (sshd, worker or {}))
    ]
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "digits"},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": templates[0]},
                "Worker": {"replicas": 2, "template": templates[1]},
            },
        },
    }


@pytest.fixture
def submit(program: Program, cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    # Its rules are no part of these tests, and the jobs have only what these are about.
    monkeypatch.setattr("training_workloads.lint.lint_read", lambda documents: [])

    def run(*documents: dict[str, Any]) -> Result:
        path = tmp_path / "job.yaml"
        path.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        return program("submit", str(path))

    return run


def errors(result: Result) -> list[str]:
    """Return the problems without the place in the file."""
    return [line.split(": ", maxsplit=2)[2] for line in result.err.splitlines() if line.startswith("error: ")]


def enforce(cluster: FakeCluster, mode: str = "enforce") -> None:
    cluster.objects[NAMESPACE]["metadata"]["labels"] = {f"pod-security.kubernetes.io/{mode}": "restricted"}


def jobs(cluster: FakeCluster) -> list[str]:
    return [path for path in cluster.objects if "/mpijobs/" in path or "/jobs/" in path or "/pods/" in path]


def test_a_restricted_namespace_rejects_the_pods_before_the_job_exists(cluster: FakeCluster, submit: Submit) -> None:
    enforce(cluster)
    job = mpi_job()
    del job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["securityContext"]
    result = submit(job)
    assert (result.code, jobs(cluster)) == (2, [])
    assert errors(result) == [
        f"'{WORKER}' is a PodTemplate, but namespace 'team' rejects its pods: violates PodSecurity "
        '"restricted:latest": allowPrivilegeEscalation != false (container "worker" must set '
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "worker" must set '
        'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "worker" must set '
        'securityContext.runAsNonRoot=true), seccompProfile (pod or container "worker" must set '
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"); render the job with this version of '
        "trainctl, or use a namespace with another label pod-security.kubernetes.io/enforce"
    ]
    lines = yaml.safe_dump(job, sort_keys=False).splitlines()
    assert lines[int(result.err.split(":")[2]) - 1].strip() == "template:"
    assert "worker" in "".join(lines[int(result.err.split(":")[2]) :])


def test_a_restricted_namespace_accepts_restricted_pods(cluster: FakeCluster, submit: Submit) -> None:
    enforce(cluster)
    assert submit(mpi_job()).code == 0
    # The pods were only asked about.
    assert [path.rpartition("/")[2] for path in jobs(cluster)] == ["digits"]
    posted = [each.partition("?") for each in cluster.requests if each.startswith(f"POST {PODS}")]
    assert [set(query.split("&")) for _, _, query in posted] == [{"dryRun=All", "fieldManager=trainctl"}] * 2


def test_a_warning_of_the_namespace_is_no_rejection(cluster: FakeCluster, submit: Submit) -> None:
    enforce(cluster, "warn")
    job = mpi_job()
    del job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["securityContext"]
    assert submit(job).code == 0


@pytest.mark.parametrize(
    ("code", "message", "text"),
    [
        (
            403,
            'pods "digits-launcher-x7k2f" is forbidden: exceeded quota: team, requested: limits.memory=64Gi,pods=1, '
            "used: limits.memory=0,pods=4, limited: limits.memory=32Gi,pods=4",
            "exceeded quota: team, requested: limits.memory=64Gi,pods=1, used: limits.memory=0,pods=4, limited: "
            "limits.memory=32Gi,pods=4; request less, or ask for a larger quota",
        ),
        (
            403,
            'pods "digits-launcher-x7k2f" is forbidden: maximum cpu usage per Container is 4, but limit is 8',
            "maximum cpu usage per Container is 4, but limit is 8; change the template, or ask an administrator of the "
            "cluster",
        ),
        (
            400,
            'admission webhook "p" denied the request: images cannot be :latest',
            'admission webhook "p" denied the request: images cannot be :latest; change the template, or ask an '
            "administrator of the cluster",
        ),
    ],
)
def test_what_else_rejects_pods(cluster: FakeCluster, submit: Submit, code: int, message: str, text: str) -> None:
    cluster.failures.append(Failure(code, PODS, "POST", times=1, message=message))
    result = submit(mpi_job())
    assert (result.code, jobs(cluster)) == (2, [])
    assert errors(result) == [f"'{LAUNCHER}' is a PodTemplate, but namespace 'team' rejects its pods: {text}"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (403, 'pods is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "team"'),
        (400, 'admission webhook "sidecars" does not support dry run'),
    ],
)
def test_where_the_question_has_no_answer_the_job_is_submitted(
    cluster: FakeCluster, submit: Submit, code: int, message: str
) -> None:
    cluster.failures.append(Failure(code, PODS, "POST", message=message))
    assert submit(mpi_job()).code == 0


@pytest.mark.parametrize(
    "reason",
    [
        "exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4",
        "exceeded quota: team, requested: limits.cpu=500m, used: limits.cpu=8, limited: limits.cpu=8",
        "exceeded quota: team, requested: limits.cpu=8, used: limits.cpu=1, limited: limits.cpu=8",
        # Not the words that are known.
        "exceeded quota: team, used: pods=4, limit: 4",
        "exceeded quota: team, requested: pods=many, used: pods=4, limited: cpu=4,pods",
    ],
)
def test_a_quota_that_is_used_up_now_is_no_mistake_in_the_job(
    cluster: FakeCluster, submit: Submit, reason: str
) -> None:
    message = f'pods "digits-launcher-x7k2f" is forbidden: {reason}'
    cluster.failures.append(Failure(403, PODS, "POST", message=message))
    result = submit(mpi_job())
    assert (result.code, jobs(cluster)) == (0, ["/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/digits"])
    # Once for both templates.
    assert result.err == (
        f"note: the quota rejects pods of MPIJob 'digits' in namespace 'team' now ({reason}); they start when other "
        "jobs have ended\n"
    )


def test_a_container_may_mount_what_the_operator_adds(cluster: FakeCluster, submit: Submit) -> None:
    mounts = [{"name": "ssh-auth", "mountPath": "/keys"}, {"name": "mpi-job-config", "mountPath": "/hosts"}]
    job = mpi_job()
    containers = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    containers.append({"name": "exporter", "image": "exporter:1", "volumeMounts": mounts})
    assert submit(job).code == 0


def test_what_collides_with_what_the_operator_adds(cluster: FakeCluster, submit: Submit) -> None:
    job = mpi_job(worker={"volumes": [{"name": "ssh-auth", "emptyDir": {}}]})
    (error,) = errors(submit(job))
    assert error.startswith(
        f"'{WORKER}' is a PodTemplate, but namespace 'team' rejects its pods: spec.volumes[1].name: Duplicate value: "
        '"ssh-auth"; '
    )


def test_a_service_account_may_be_in_the_same_submission(cluster: FakeCluster, submit: Submit) -> None:
    job = mpi_job(worker={"serviceAccountName": "training"})
    (error,) = errors(submit(job))
    assert 'service account team/training: serviceaccount "training" not found' in error
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "training"}}
    assert submit(account, job).code == 0


def test_the_pods_of_a_batch_job_are_asked_about(cluster: FakeCluster, submit: Submit) -> None:
    enforce(cluster)
    template = {"spec": {"containers": [{"name": "copy", "image": "training:1"}], "restartPolicy": "Never"}}
    stage = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "stage"}, "spec": {"template": template}}
    (error,) = errors(submit(stage))
    assert error.startswith("'spec.template' is a PodTemplate, but namespace 'team' rejects its pods: violates PodSec")


def test_a_pod_is_as_the_operator_creates_it() -> None:
    job = mpi_job()
    roles = job["spec"]["mpiReplicaSpecs"]
    roles["Worker"]["template"]["metadata"] = {"labels": {"team": "vision"}, "annotations": {"a": "b"}}
    roles["Launcher"]["restartPolicy"] = "ExitCode"
    job["spec"]["sshAuthMountPath"] = "/home/mpiuser/.ssh"
    (launcher_path, launcher), (worker_path, worker) = job_pods(job)
    assert launcher_path == ("spec", "mpiReplicaSpecs", "Launcher", "template")
    assert worker_path == ("spec", "mpiReplicaSpecs", "Worker", "template")
    owner = worker["metadata"].pop("ownerReferences")[0]
    assert (owner["apiVersion"], owner["kind"], owner["name"], owner["controller"]) == (
        "kubeflow.org/v2beta1",
        "MPIJob",
        "digits",
        True,
    )
    assert launcher["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert worker["metadata"] == {
        "generateName": "digits-worker-",
        "annotations": {"a": "b"},
        "labels": {
            "team": "vision",
            "training.kubeflow.org/operator-name": "mpi-operator",
            "training.kubeflow.org/job-name": "digits",
            "training.kubeflow.org/job-role": "worker",
            "training.kubeflow.org/replica-index": "0",
        },
    }
    assert (launcher["spec"]["restartPolicy"], worker["spec"]["restartPolicy"]) == ("Never", "Never")
    keys = {"name": "ssh-auth", "mountPath": "/home/mpiuser/.ssh"}
    assert worker["spec"]["containers"][0]["volumeMounts"] == [keys]
    assert launcher["spec"]["containers"][0]["volumeMounts"] == [
        keys,
        {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
    ]
    # The job itself is not changed.
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"].keys() == {"containers"}


@pytest.mark.parametrize(
    "template", [None, {}, {"spec": None}, {"spec": {"containers": []}}, {"spec": {"containers": 1}}]
)
def test_a_template_without_containers_has_no_pod(template: Any) -> None:
    roles = {"Launcher": {"template": template}, "Worker": {"replicas": 0, "template": template}}
    metadata = {"name": "a"}
    mpi = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": metadata,
        "spec": {"mpiReplicaSpecs": roles},
    }
    batch = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
    assert [*job_pods(mpi), *job_pods(batch)] == []
