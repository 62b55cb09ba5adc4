"""Attempts to keep GPUs by making Kueue, the MPI operator or the garbage collector leave a job alone."""

import copy
from typing import Any

import pytest

from tests.workloads.platform.team_requests import (
    COLLECTOR,
    CONTROLLER,
    GRACE,
    JOBS,
    KUEUE,
    MAKERS,
    MEMBER,
    OPERATOR,
    PODS,
    RESOURCES,
    check,
    job,
    mpi_job,
    owned,
    pod,
    rejected,
    with_pods,
)

CRON = "system:serviceaccount:kube-system:cronjob-controller"
STATEFUL_SETS = "system:serviceaccount:kube-system:statefulset-controller"

FINALIZERS = "nothing delays the deletion of a job with GPUs"
MANAGED = "the MPI operator alone controls an MPIJob with GPUs"
KEEPS = "an MPIJob with GPUs keeps its workers"
LABELS = "a job with GPUs that runs keeps its labels"
PARTS = "the ConfigMap, Secret, Service and launcher of an MPIJob are the operator's"
NAMES = "names that end in -worker-<number>"
CLAIMS = "a pod requests devices as resources"


def with_metadata(made: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return made | {"metadata": made["metadata"] | metadata}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("finalizers", "wanted"),
    [([], None), (["foregroundDeletion"], None), (["example.com/hold"], FINALIZERS), (["orphan"], FINALIZERS)],
)
def test_a_job_with_gpus_does_not_outlive_its_deletion(kind: str, finalizers: list[str], wanted: str | None) -> None:
    make = MAKERS[kind]
    check(rejected(RESOURCES[kind], with_metadata(make(), finalizers=finalizers)), wanted)
    running = make(suspend=False)
    check(rejected(RESOURCES[kind], with_metadata(running, finalizers=finalizers), old=running), wanted)
    without = make(0, queue=None, suspend=False)
    check(rejected(RESOURCES[kind], with_metadata(without, finalizers=finalizers)), None)


@pytest.mark.parametrize(
    ("controller", "wanted"), [("kubeflow.org/mpi-operator", None), ("kueue.x-k8s.io/multikueue", MANAGED)]
)
def test_an_mpi_job_with_gpus_stays_with_the_operator(controller: str, wanted: str | None) -> None:
    for suspend in (True, False):
        old, made = mpi_job(suspend=suspend), mpi_job(suspend=suspend)
        made["spec"]["runPolicy"]["managedBy"] = controller
        check(rejected(RESOURCES["MPIJob"], made, old=old), wanted)
    check(rejected(RESOURCES["MPIJob"], made, KUEUE, old=old), None)


@pytest.mark.parametrize("suspend", [True, False])
@pytest.mark.parametrize(("number", "wanted"), [(8, None), (1, KEEPS)])
def test_no_worker_with_gpus_is_left_behind(suspend: bool, number: int, wanted: str | None) -> None:
    running = with_pods(mpi_job(suspend=False), 8)
    fewer = with_pods(mpi_job(suspend=suspend), number)
    check(rejected(RESOURCES["MPIJob"], fewer, old=running), wanted)
    check(rejected(RESOURCES["MPIJob"], fewer, old=with_pods(mpi_job(), 8), user=KUEUE), None)


def test_no_worker_with_gpus_is_left_behind_by_a_job_without_them() -> None:
    running = with_pods(mpi_job(suspend=False), 8)
    without = with_pods(mpi_job(0), 1)
    check(rejected(RESOURCES["MPIJob"], without, old=running), KEEPS)
    no_workers = mpi_job()
    del no_workers["spec"]["mpiReplicaSpecs"]["Worker"]
    check(rejected(RESOURCES["MPIJob"], no_workers, old=running), KEEPS)


def test_a_job_of_torchrun_becomes_smaller() -> None:
    running = with_pods(job(suspend=False), 8)
    check(rejected(RESOURCES["Job"], with_pods(running, 2), old=running), None)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_job_with_gpus_that_runs_keeps_its_labels(kind: str) -> None:
    running = MAKERS[kind](suspend=False)
    labels = running["metadata"]["labels"] | {"kueue.x-k8s.io/priority-class": "none-such"}
    changed = with_metadata(running, labels=labels)
    check(rejected(RESOURCES[kind], changed, old=running), LABELS)
    check(rejected(RESOURCES[kind], changed, KUEUE, old=running), None)
    waiting = MAKERS[kind]()
    check(rejected(RESOURCES[kind], with_metadata(waiting, labels=labels), old=waiting), None)


@pytest.mark.parametrize("kind", MAKERS)
def test_only_the_controller_of_cron_jobs_makes_jobs_of_one(kind: str) -> None:
    made = owned(MAKERS[kind](), "CronJob")
    check(rejected(RESOURCES[kind], made), CONTROLLER)
    check(rejected(RESOURCES[kind], made, old=MAKERS[kind]()), CONTROLLER)
    check(rejected(RESOURCES[kind], made, CRON), None)
    check(rejected(RESOURCES[kind], made, old=made), None)


CONFIG_MAPS, SECRETS, SERVICES = (("", name) for name in ("configmaps", "secrets", "services"))


@pytest.mark.parametrize("resource", [CONFIG_MAPS, SECRETS, SERVICES, RESOURCES["Job"]])
def test_the_parts_of_an_mpi_job_are_the_operators(resource: tuple[str, str]) -> None:
    part = owned(job(0, queue=None, suspend=False), "MPIJob")
    free = copy.deepcopy(part)
    del free["metadata"]["ownerReferences"]
    for made, old in ((free, part), (part, free), (part | {"immutable": True}, part), (None, part), (part, None)):
        options = {"propagationPolicy": "Background"}
        check(rejected(resource, made, old=old, options=options), PARTS)
        for user in (OPERATOR, KUEUE, COLLECTOR, JOBS):
            check(rejected(resource, made, user, old=old, options=options), None)
    check(rejected(resource, free), None)
    check(rejected(resource, free, old=free), None)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("train-worker-0", NAMES), ("train-worker-17", NAMES), ("train-worker-x", None), ("worker-0-a", None)],
)
def test_a_pod_does_not_stand_for_a_worker(name: str, wanted: str | None) -> None:
    made = with_metadata(pod(), name=name)
    for user in (MEMBER, STATEFUL_SETS):
        check(rejected(PODS, made, user), wanted)
    check(rejected(PODS, made, OPERATOR), None)
    check(rejected(PODS, made, old=made), None)
    check(rejected(PODS, made | {"metadata": {"generateName": "train-worker-"}}), None)


@pytest.mark.parametrize(("seconds", "wanted"), [(None, None), (120, None), (10**9, GRACE)])
def test_an_evicted_pod_ends_soon(seconds: int | None, wanted: str | None) -> None:
    eviction: dict[str, Any] = {"metadata": {"name": "one"}}
    check(rejected(("", "pods/eviction"), eviction), None)
    eviction["deleteOptions"] = {} if seconds is None else {"gracePeriodSeconds": seconds}
    check(rejected(("", "pods/eviction"), eviction), wanted)


def test_a_pod_claims_no_devices_beside_its_resources() -> None:
    check(rejected(PODS, pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "mine"}])), CLAIMS)
    check(rejected(PODS, pod(resourceClaims=[])), None)
