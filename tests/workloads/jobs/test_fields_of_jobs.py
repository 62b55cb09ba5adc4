"""Each field of each kind of job has an effect, or a message rejects it."""

from typing import Any

import pytest

from tests.workloads.jobs.test_every_job import KINDS, ON_GPUS, PLAIN, manifests
from training_workloads import InputError, Scheduling, SharedVolume

# A value other than the default and that of PLAIN, of each field.
OTHER: dict[str, Any] = {
    "name": "other",
    "image": "image:2",
    "instance_type": "p5.48xlarge",
    "efa_interfaces": 1,
    "namespace": "research",
    "scheduling": Scheduling(node_group="gpu"),
    "command": ("python", "other.py"),
    "workers": 3,
    "gpus_per_worker": 4,
    "environment": {"SEED": "7"},
    "volumes": (SharedVolume(claim="training-efs", mount_path="/efs"),),
    "volume": SharedVolume(claim="training-efs", mount_path="/efs"),
    "service_account": "runs",
    "framework": "other",
    "bind_to": "none",
    "start_timeout_seconds": 900,
    "deadline_seconds": 3600,
    "backoff_limit": 7,
    "max_cost": 500,
    "gate": False,
    "min_workers": 2,
    "max_workers": 5,
    "max_restarts": 9,
    "rendezvous": "etcd",
    "kind": "TrainJob",
    "nodes": 3,
    "collective": "all_gather",
    "minimum_bus_bandwidth": 300.0,
    "message_gib": 4,
    "source": "s3://bucket/other/",
    "folder": "other",
    "file_system": "efs",
    "class_folders": "train",
    "pods": 3,
    "user_id": 2001,
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_is_accepted_and_ignored(kind: str) -> None:
    given = PLAIN[kind] | ({"instance_type": "p4d.24xlarge"} if kind in (*ON_GPUS, "torch") else {})
    plain, ignored, rejected = manifests(kind, given), set(), set()
    for name in KINDS[kind][0].model_fields:
        try:
            if manifests(kind, given | {name: OTHER[name]}) == plain:
                ignored.add(name)
        except InputError:
            rejected.add(name)
    # The framework decides which instance types are allowed.
    assert ignored <= {"framework"}
    # horovodrun does not bind ranks, and a TrainJob is not elastic.
    assert rejected == {"elastic": {"bind_to"}, "torch": {"kind"}}.get(kind, set())
