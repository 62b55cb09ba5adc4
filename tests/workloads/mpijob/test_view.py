from decimal import Decimal
from typing import Any

import pytest

from training_workloads.mpijob.view import MpiJobView


@pytest.mark.parametrize("junk", [None, 7, "x", [], {}, {"Worker": None}, {"Worker": {"template": {"spec": []}}}])
def test_a_job_of_any_shape_reads_as_empty(junk: Any) -> None:
    job = MpiJobView(document={"kind": "MPIJob", "spec": {"mpiReplicaSpecs": junk}})
    assert (job.launches, job.total_slots, job.labels) == ((), None, {})
    assert (job.worker.containers, job.worker.claim_mounts, job.launcher.first.argv) == ([], [], [])


def test_the_numbers_of_a_job_are_read() -> None:
    worker = {"replicas": 2, "template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "500m"}}}]}}}
    spec = {"slotsPerWorker": 8, "mpiReplicaSpecs": {"Worker": worker}}
    job = MpiJobView(document={"spec": spec})
    assert (job.slots, job.total_slots, job.worker.total("cpu")) == (8, 16, Decimal("0.5"))


@pytest.mark.parametrize(("replicas", "slots"), [(0, 8), (-2, 8), (2, 0), (2, -8)])
def test_a_number_below_one_makes_no_total(replicas: int, slots: int) -> None:
    spec = {"slotsPerWorker": slots, "mpiReplicaSpecs": {"Worker": {"replicas": replicas}}}
    assert MpiJobView(document={"spec": spec}).total_slots is None


def test_only_claims_are_claim_mounts() -> None:
    volumes = [{"name": "shm", "emptyDir": {}}, {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "data", "mountPath": "/fsx"}]
    pod = {"volumes": volumes, "containers": [{"volumeMounts": mounts}]}
    job = MpiJobView(document={"spec": {"mpiReplicaSpecs": {"Worker": {"template": {"spec": pod}}}}})
    assert job.worker.claim_mounts == ["/fsx"]


def test_a_missing_container_has_the_path_that_it_would_have() -> None:
    job = MpiJobView(document={"spec": {"mpiReplicaSpecs": {"Launcher": {}}}})
    assert job.launcher.first.path[-2:] == ("containers", 0)
