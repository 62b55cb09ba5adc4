from typing import Any

import cdk8s
import pytest

from training_workloads import InputError, MpiJob, MpiJobSpec, ReplicaSpec, RunPolicy, SchedulingPolicy

TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def spec(**changes: Any) -> MpiJobSpec:
    defaults: dict[str, Any] = {
        "name": "job",
        "launcher": ReplicaSpec(template=TEMPLATE),
        "worker": ReplicaSpec(template=TEMPLATE, replicas=2),
        "slots_per_worker": 8,
    }
    return MpiJobSpec(**{**defaults, **changes})


def manifest(job: MpiJobSpec) -> dict[str, Any]:
    chart = cdk8s.Testing.chart()
    MpiJob(chart, "Job", spec=job)
    (document,) = cdk8s.Testing.synth(chart)
    return dict(document)


def test_defaults_are_those_that_free_the_gpus() -> None:
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
    assert made["metadata"] == {"name": "job", "namespace": "team"}
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


def test_zero_workers() -> None:
    with pytest.raises(InputError, match=r"^'worker.replicas' is 0; give 1 or more$"):
        spec(worker=ReplicaSpec(template=TEMPLATE, replicas=0))


def test_two_launchers() -> None:
    with pytest.raises(InputError, match=r"^'launcher.replicas' is 2; an MPIJob has exactly 1 launcher$"):
        spec(launcher=ReplicaSpec(template=TEMPLATE, replicas=2))


def test_no_slots() -> None:
    with pytest.raises(InputError, match=r"^'slots_per_worker' is 0; give 1 or more$"):
        spec(slots_per_worker=0)


@pytest.mark.parametrize(("workers", "limit"), [(1, 54), (10, 54), (11, 53), (101, 52)])
def test_the_longest_name_depends_on_the_number_of_workers(workers: int, limit: int) -> None:
    worker = ReplicaSpec(template=TEMPLATE, replicas=workers)
    spec(name="a" * limit, worker=worker)
    with pytest.raises(InputError, match=f"use a name of {limit} characters or fewer$"):
        spec(name="a" * (limit + 1), worker=worker)


@pytest.mark.parametrize("name", ["", "Job", "1job", "-job", "job-", "job.a", "job_a"])
def test_a_name_that_is_no_dns_1035_label(name: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(name=name)
    assert str(caught.value) == (
        f"'name' is {name!r}; a job's name has lower-case letters, digits and '-', "
        "starts with a letter and ends with a letter or digit"
    )
