from collections.abc import Callable
from typing import Any

import cdk8s
import pytest

from training_workloads import InputError, MpiJob, MpiJobSpec, ReplicaSpec, RunPolicy, SchedulingPolicy

TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


# The classes without their types, for values that have a wrong one.
run_policy: Any = RunPolicy
scheduling_policy: Any = SchedulingPolicy
replica_spec: Any = ReplicaSpec


def spec(**changes: Any) -> MpiJobSpec:
    defaults: dict[str, Any] = {
        "name": "job",
        "launcher": ReplicaSpec(template=TEMPLATE),
        "worker": ReplicaSpec(template=TEMPLATE, replicas=2),
        "slots_per_worker": 8,
    }
    return MpiJobSpec(**{**defaults, **changes})


def with_container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i", **fields}]}}


def manifest(job: MpiJobSpec) -> dict[str, Any]:
    chart = cdk8s.Testing.chart()
    MpiJob(chart, "Job", spec=job)
    (document,) = cdk8s.Testing.synth(chart)
    return dict(document)


def test_defaults_free_the_gpus() -> None:
    assert manifest(spec()) == {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "job"},
        "spec": {
            "slotsPerWorker": 8,
            "runLauncherAsWorker": False,
            "sshAuthMountPath": "/root/.ssh",
            "launcherCreationPolicy": "WaitForWorkersReady",
            "mpiImplementation": "OpenMPI",
            "runPolicy": {"cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": TEMPLATE},
                "Worker": {"replicas": 2, "restartPolicy": "Never", "template": TEMPLATE},
            },
        },
    }


def test_all_options() -> None:
    job = spec(
        namespace="team",
        labels={"team": "vision"},
        annotations={"example.com/ticket": "4: a text"},
        ssh_auth_mount_path="/home/mpiuser/.ssh",
        launcher_creation_policy="AtStartup",
        mpi_implementation="MPICH",
        run_launcher_as_worker=True,
        run_policy=RunPolicy(
            clean_pod_policy="All",
            ttl_seconds_after_finished=60,
            active_deadline_seconds=3600,
            backoff_limit=0,
            suspend=True,
            managed_by="kueue.x-k8s.io/multikueue",
            scheduling_policy=SchedulingPolicy(
                min_available=2,
                queue="q",
                min_resources={"cpu": "4"},
                priority_class="high",
                schedule_timeout_seconds=5,
            ),
        ),
    )
    made = manifest(job)
    assert made["metadata"] == {
        "name": "job",
        "namespace": "team",
        "labels": {"team": "vision"},
        "annotations": {"example.com/ticket": "4: a text"},
    }
    assert made["spec"]["launcherCreationPolicy"] == "AtStartup"
    assert made["spec"]["mpiImplementation"] == "MPICH"
    assert made["spec"]["runLauncherAsWorker"] is True
    assert made["spec"]["runPolicy"] == {
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 60,
        "activeDeadlineSeconds": 3600,
        "backoffLimit": 0,
        "suspend": True,
        "managedBy": "kueue.x-k8s.io/multikueue",
        "schedulingPolicy": {
            "minAvailable": 2,
            "queue": "q",
            "minResources": {"cpu": "4"},
            "priorityClass": "high",
            "scheduleTimeoutSeconds": 5,
        },
    }


def test_ranks_in_the_launcher_alone() -> None:
    job = spec(worker=None, run_launcher_as_worker=True)
    assert list(manifest(job)["spec"]["mpiReplicaSpecs"]) == ["Launcher"]
    assert (job.workers, job.world_size) == (0, 8)


def test_ranks_of_workers_and_launcher() -> None:
    assert spec().world_size == 16
    assert spec(run_launcher_as_worker=True).world_size == 24


@pytest.mark.parametrize(("workers", "limit"), [(1, 54), (10, 54), (11, 53), (101, 52)])
def test_the_longest_name_depends_on_the_number_of_workers(workers: int, limit: int) -> None:
    worker = ReplicaSpec(template=TEMPLATE, replicas=workers)
    spec(name="a" * limit, worker=worker)
    with pytest.raises(InputError, match=f"use a name of {limit} characters or fewer$"):
        spec(name="a" * (limit + 1), worker=worker)


@pytest.mark.parametrize("name", ["", "Job", "1job", "-job", "job-", "job.a", "job_a"])
def test_rejects_a_name_that_is_not_a_dns_1035_label(name: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(name=name)
    assert str(caught.value) == (
        f"'name' is {name!r}; give lower-case letters, digits and '-', a letter first and no '-' at the end, at most 63"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: spec(worker=None), "'worker' is None, but a pod must hold the ranks; give the workers, or set"),
        (lambda: replica_spec(template=TEMPLATE, replicas=0), "'replicas' is 0; give 1 or more"),
        (
            lambda: spec(launcher=ReplicaSpec(template=TEMPLATE, replicas=2)),
            "'launcher.replicas' is 2, but an MPIJob has exactly 1 launcher; give 1",
        ),
        (lambda: spec(slots_per_worker=0), "'slots_per_worker' is 0; give 1 or more"),
        (
            lambda: run_policy(clean_pod_policy="Always"),
            "'clean_pod_policy' is 'Always'; give one of None, Running, All",
        ),
        (lambda: run_policy(backoff_limit=-1), "'backoff_limit' is -1; give 0 or more"),
        (
            lambda: run_policy(ttl_seconds_after_finished=1.5),
            "'ttl_seconds_after_finished' is 1.5; give a whole number",
        ),
        (lambda: run_policy(suspend="no"), "'suspend' is 'no'; give true or false"),
        (lambda: scheduling_policy(min_available=-1), "'min_available' is -1; give 0 or more"),
        (lambda: scheduling_policy(schedule_timeout_seconds=1.5), "'schedule_timeout_seconds' is 1.5; give a whole"),
        (lambda: scheduling_policy(queue="A B"), "'queue' is 'A B'; give a name of lower-case letters"),
        (lambda: scheduling_policy(priority_class=""), "'priority_class' is ''; give a name of lower-case letters"),
        (
            lambda: scheduling_policy(min_resources={"cpu": 4}),
            "'min_resources.cpu' is 4; give an amount as Kubernetes",
        ),
        (
            lambda: scheduling_policy(min_resources=["cpu"]),
            "'min_resources' is ['cpu']; give names with their values",
        ),
        (lambda: spec(launcher={"replicas": 1}), "'launcher' is {'replicas': 1}; give ReplicaSpec(...)"),
        (lambda: spec(worker={}), "'worker' is {}; give ReplicaSpec(...)"),
        (lambda: spec(run_policy="none"), "'run_policy' is 'none'; give RunPolicy(...)"),
        (lambda: replica_spec(template=5), "'template' is 5; give a PodTemplateSpec as a dictionary: {'spec': {…}}"),
        (lambda: replica_spec(template={"spec": None}), "'template' is {'spec': None}; give a PodTemplateSpec"),
        (lambda: spec(namespace="Team"), "'namespace' is 'Team'; give lower-case letters, digits and '-', at most 63"),
        (lambda: spec(run_launcher_as_worker=1), "'run_launcher_as_worker' is 1; give true or false"),
        (lambda: spec(run_launcher_as_worker=1.5), "'run_launcher_as_worker' is 1.5; give true or false"),
        (
            lambda: spec(labels={"team": 5}),
            "'labels.team' is 5; give text of letters, digits, '-', '_' and '.', at most",
        ),
        (lambda: spec(labels={"team": "a b"}), "'labels.team' is 'a b'; give text of letters, digits"),
        (lambda: spec(labels={"a b": "c"}), "'labels' is 'a b'; give names such as team or example.com/team"),
        (lambda: spec(labels=["team"]), "'labels' is ['team']; give a dictionary of names and texts, such as"),
        (lambda: spec(annotations={"ticket": 5}), "'annotations.ticket' is 5; give text, in quotes"),
        (lambda: spec(annotations={5: "a"}), "'annotations' is 5; give names such as team or example.com/team"),
        (
            lambda: spec(annotations={"a": "x" * 262_144}),
            "but it has 262145 bytes, and all annotations of an object have at most 262144; put large values into",
        ),
        (lambda: scheduling_policy(min_resources={"cpu": "lots"}), "'min_resources.cpu' is 'lots'; give an amount as"),
        (
            lambda: scheduling_policy(min_resources={"a b": "1"}),
            "'min_resources.a b' is 'a b'; give the name of a resource",
        ),
        (lambda: replica_spec(template=TEMPLATE, replicas=True), "'replicas' is True; give a whole number, 1 or more"),
        (
            lambda: replica_spec(template=with_container(env=[{"name": "A", "value": 1}])),
            "'template.spec.containers[0].env[0].value' is 1, but the field takes text; write it in quotes",
        ),
        (
            lambda: replica_spec(template=with_container(args=["a\0b"])),
            r"'template.spec.containers[0].args[0]' is 'a\x00b'; give a text without NUL characters",
        ),
        (lambda: run_policy(managed_by="me"), "'managed_by' is 'me'; give one of kubeflow.org/mpi-operator, kueue"),
        (
            lambda: replica_spec(template=TEMPLATE, restart_policy="Always"),
            "'restart_policy' is 'Always'; give one of Never, OnFailure",
        ),
        (
            lambda: replica_spec(template={"spec": {"containers": []}}),
            "'template.spec.containers' is []; give at least one container",
        ),
        (
            lambda: spec(launcher_creation_policy="Whenever"),
            "'launcher_creation_policy' is 'Whenever'; give one of AtStartup, WaitForWorkersReady",
        ),
        (lambda: spec(mpi_implementation="OpenMpi"), "'mpi_implementation' is 'OpenMpi'; give one of OpenMPI, Intel"),
        (lambda: spec(ssh_auth_mount_path="/a\0"), r"'ssh_auth_mount_path' is '/a\x00'; give an absolute path"),
        (lambda: spec(ssh_auth_mount_path=""), "'ssh_auth_mount_path' is ''; give an absolute path"),
        (lambda: spec(slots_per_worker="8"), "'slots_per_worker' is '8'; give a whole number, 1 or more"),
    ],
)
def test_rejects_what_the_operator_rejects_later(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("min_available", [None, 3])
def test_rejects_a_gang_that_waits_for_its_launcher_for_ever(min_available: int | None) -> None:
    policy = RunPolicy(scheduling_policy=SchedulingPolicy(min_available=min_available))
    spec(run_policy=policy, launcher_creation_policy="AtStartup")
    with pytest.raises(InputError, match=r"; give 2, the number of workers, or fewer$"):
        spec(run_policy=policy)
