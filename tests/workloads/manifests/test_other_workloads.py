from typing import Any

import pytest

from training_workloads.manifests.other_workloads import OTHER_KINDS, JobSetView, TrainJobView, other_workload

POD = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}
REPLICATED = [{"name": "node", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": POD}}}]


def view(api: str, kind: str, spec: Any) -> Any:
    return other_workload({"apiVersion": api, "kind": kind, "spec": spec})


@pytest.mark.parametrize(
    ("api", "kind", "spec", "groups"),
    [
        ("batch/v1", "Job", {"parallelism": 4, "template": POD}, [("Job", ("spec", "template"), 4)]),
        ("batch/v1", "Job", {"template": POD}, [("Job", ("spec", "template"), 1)]),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {"replicatedJobs": REPLICATED},
            [("node", ("spec", "replicatedJobs", 0, "template", "spec", "template"), 6)],
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            {"pytorchReplicaSpecs": {"Master": {"template": POD}, "Worker": {"replicas": 3, "template": POD}, "X": 5}},
            [
                ("Master", ("spec", "pytorchReplicaSpecs", "Master", "template"), 1),
                ("Worker", ("spec", "pytorchReplicaSpecs", "Worker", "template"), 3),
            ],
        ),
        (
            "trainer.kubeflow.org/v1alpha1",
            "TrainingRuntime",
            {"template": {"spec": {"replicatedJobs": REPLICATED}}},
            [("node", ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template"), 6)],
        ),
    ],
)
def test_each_kind_has_its_pods(api: str, kind: str, spec: Any, groups: list[Any]) -> None:
    found = view(api, kind, spec).groups
    assert [(pods.role, pods.template_path, pods.replicas) for pods in found] == groups
    assert all(pods.template == POD for pods in found)


@pytest.mark.parametrize("kind", OTHER_KINDS)
@pytest.mark.parametrize("spec", [None, 5, [], {}, {"template": 5, "replicatedJobs": [5, {"template": 7}]}])
def test_any_spec_has_a_view(kind: str, spec: Any) -> None:
    for api in ("batch/v1", "jobset.x-k8s.io/v1alpha2", "kubeflow.org/v1", "trainer.kubeflow.org/v1alpha1"):
        if workload := view(api, kind, spec):
            assert [pods.containers for pods in workload.groups if pods.containers] == []


@pytest.mark.parametrize(("api", "kind"), [("v1", "Pod"), ("batch/v1", "CronJob"), ("example.com/v1", "Job"), (5, [])])
def test_other_kinds_have_no_view(api: Any, kind: Any) -> None:
    assert view(api, kind, {}) is None


def test_a_job_trains_where_it_requests_gpus() -> None:
    assert view("batch/v1", "Job", {"template": POD}).trains
    assert not view("batch/v1", "Job", {"template": {"spec": {"containers": [{"command": ["rm"]}]}}}).trains


def test_the_trainer_of_a_train_job_is_a_container_whose_values_have_their_place() -> None:
    patch = {"nodeSelector": {"zone": "a"}, "containers": [{"name": "node", "volumeMounts": [{"name": "data"}]}]}
    spec = {
        "trainer": {"numNodes": 2, "env": [{"name": "A"}], "resourcesPerNode": {"limits": {"cpu": 1}}},
        "podTemplateOverrides": [{"spec": patch}],
    }
    job = view("trainer.kubeflow.org/v1alpha1", "TrainJob", spec)
    assert isinstance(job, TrainJobView)
    (pods,) = job.groups
    (container,) = pods.containers
    assert (pods.replicas, pods.is_whole, list(job.written_groups)) == (2, False, [])
    patched = ("spec", "podTemplateOverrides", 0, "spec")
    assert job.source_path((*container.path, "env", 0, "name")) == ("spec", "trainer", "env", 0, "name")
    assert job.source_path((*container.path, "resources", "limits", "cpu")) == (
        *("spec", "trainer", "resourcesPerNode", "limits", "cpu"),
    )
    assert job.source_path((*container.path, "volumeMounts")) == (*patched, "containers", 0, "volumeMounts")
    assert job.source_path((*pods.pod_path, "nodeSelector", "zone")) == (*patched, "nodeSelector", "zone")
    assert job.source_path((*container.path, "image")) is None
    odd = view("trainer.kubeflow.org/v1alpha1", "TrainJob", {"trainer": {None: 5}})
    assert odd.source_path((*container.path, "volumeMounts")) is None


def test_a_job_sets_jobs_have_their_paths() -> None:
    workload = view("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": REPLICATED})
    assert isinstance(workload, JobSetView)
    assert [(job.name, job.path) for job in workload.jobs] == [
        ("node", ("spec", "replicatedJobs", 0, "template", "spec"))
    ]
