"""A TrainJob of Kubeflow Trainer 2 in place of a Job: against its pinned definition, and what it cannot say."""

from pathlib import Path
from typing import Any

import cdk8s
import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from tests.schemas import check_manifest
from training_workloads import InputError, Scheduling, SharedVolume, TorchElasticJob, TorchElasticJobSpec
from training_workloads.manifests.documents import read_documents
from training_workloads.run_local.torchrun_plan import plan_torchrun


def spec(**changes: Any) -> TorchElasticJobSpec:
    defaults: dict[str, Any] = {
        "name": "job",
        "image": "image:1",
        "command": ("python", "-m", "train", "--output-dir", "/fsx/runs/job"),
        "instance_type": "p4d.24xlarge",
        "workers": 2,
        "kind": "TrainJob",
    }
    return TorchElasticJobSpec(**{**defaults, **changes})


def objects(**changes: Any) -> list[dict[str, Any]]:
    chart = cdk8s.Testing.chart()
    TorchElasticJob(chart, "Job", spec=spec(**changes))
    made: list[dict[str, Any]] = cdk8s.Testing.synth(chart)
    for document in made:
        check_manifest(document)
    return made


def patched(job: dict[str, Any]) -> dict[str, Any]:
    (patch,) = job["spec"]["runtimePatches"]
    (node,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert node["name"] == "node"
    template: dict[str, Any] = node["template"]["spec"]["template"]
    return template


def test_a_train_job_has_the_nodes_the_ranks_and_the_devices_and_no_store() -> None:
    job, policy = objects(namespace="team", environment={"SEED": "7"}, deadline_seconds=3600)
    assert (job["kind"], policy["kind"], job["metadata"]["namespace"]) == ("TrainJob", "NetworkPolicy", "team")
    runtime = {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "torch-distributed"}
    assert (job["spec"]["runtimeRef"], job["spec"]["activeDeadlineSeconds"]) == (runtime, 3600)
    trainer = job["spec"]["trainer"]
    assert (trainer["numNodes"], trainer["numProcPerNode"], trainer["image"]) == (2, 8, "image:1")
    # The trainer gives torchrun the rest as variables.
    program = ["python", "-m", "train", "--output-dir", "/fsx/runs/job"]
    assert trainer["command"] == ["torchrun", "--no-python", *program]
    limits = trainer["resourcesPerNode"]["limits"]
    assert (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"], limits["hugepages-2Mi"]) == (8, 4, "5120Mi")
    variables = {one["name"]: one["value"] for one in trainer["env"]}
    expected = {"TRAINING_DATA_THREADS": "11", "NCCL_NET": "AWS Libfabric", "SEED": "7"}
    assert {name: variables[name] for name in expected} == expected


def test_its_pods_are_changed_as_those_of_a_job() -> None:
    places = Scheduling(queue="research", capacity_type="SPOT", placement_group=True)
    volumes = (SharedVolume(), SharedVolume(claim="training-efs", mount_path="/efs"))
    job, policy = objects(scheduling=places, service_account="runs", volumes=volumes)
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "research"}
    assert job["spec"]["suspend"] is True
    template = patched(job)
    pod = template["spec"]
    assert pod["serviceAccountName"] == "runs"
    assert pod["nodeSelector"]["eks.amazonaws.com/capacityType"] == "SPOT"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert [volume["name"] for volume in pod["volumes"]] == ["shm", "shared-0", "shared-1"]
    (node,) = pod["containers"]
    assert [mount["mountPath"] for mount in node["volumeMounts"]] == ["/dev/shm", "/fsx", "/efs"]
    assert node.keys() == {"name", "volumeMounts", "securityContext"}
    # The policy, and the affinity of the workers to each other, select them.
    labels = template["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    (together,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert together["labelSelector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"max_workers": 4},
            "'max_workers' is 4, but of a TrainJob its number of workers is fixed; omit it, or use a Job of Kubernetes",
        ),
        ({"min_workers": 2}, "'min_workers' is 2, but of a TrainJob its number of workers is fixed"),
        ({"max_restarts": 3}, "'max_restarts' is 3, but of a TrainJob failurePolicy of its runtime decides on"),
        ({"backoff_limit": 0}, "'backoff_limit' is 0, but of a TrainJob failurePolicy of its runtime decides on"),
        ({"rendezvous": "etcd"}, "'rendezvous' is 'etcd', but of a TrainJob its workers meet at the pod of index 0"),
        ({"start_timeout_seconds": 60}, "'start_timeout_seconds' is 60, but of a TrainJob its workers wait as long"),
        (
            {"scheduling": Scheduling(priority_class="high")},
            "'scheduling.priority_class' is 'high', but of a TrainJob a patch of its pods does not have it",
        ),
        ({"scheduling": Scheduling(spread_over="kubernetes.io/hostname")}, "a patch of its pods does not have it"),
        ({"name": "a" * 51}, "Kubernetes names pods '<name>-node-0-99999', of at most 63 characters"),
        (
            {"environment": {"PET_NNODES": "3"}},
            "'environment.PET_NNODES' is '3', but the trainer sets it in a TrainJob; omit it",
        ),
        ({"kind": "PyTorchJob"}, "'kind' is 'PyTorchJob'; give one of Job, TrainJob"),
    ],
)
def test_rejects_what_a_train_job_cannot_say(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(**change)
    assert message in str(caught.value)


def test_the_pinned_definition_rejects_what_the_api_server_would() -> None:
    job, _ = objects()
    for place, wrong in (("podTemplateOverrides", []), ("activeDeadlineSeconds", 0), ("managedBy", "me")):
        with pytest.raises(jsonschema.ValidationError):
            check_manifest({**job, "spec": {**job["spec"], place: wrong}})
    patched(job)["spec"]["priorityClassName"] = "high"
    with pytest.raises(jsonschema.ValidationError):
        check_manifest(job)


def test_the_lint_finds_nothing_and_the_program_runs_here(tmp_path: Path) -> None:
    from training_workloads.cli import program

    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump_all(objects()))
    result = CliRunner().invoke(program, ["lint", str(path)])
    assert result.exit_code == 0, result.output
    document = read_documents(path.read_bytes(), "job.yaml")[0]
    run = plan_torchrun(document, Path("/here"), Path("/scratch"))
    assert run.command[-5:] == ("python", "-m", "train", "--output-dir", "/here/runs/job")
    assert run.writes is True
