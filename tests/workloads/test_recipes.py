from itertools import pairwise
from typing import Any

import cdk8s
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.schemas import check_manifest
from training_workloads import InputError
from training_workloads.jobs.kinds import define_job
from training_workloads.recipes import NEEDS, RECIPES, recipe

NEEDED = {"source": "s3://bucket/data/imagenet/", "service_account": "stage"}


def needed(name: str) -> dict[str, str]:
    return {field: NEEDED[field] for field in NEEDS.get(name, {})}


def manifests(name: str, **changes: Any) -> list[dict[str, Any]]:
    chart = cdk8s.Testing.chart()
    define_job(chart, "Job", spec=recipe(name, **needed(name), **changes))
    return list(cdk8s.Testing.synth(chart))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_valid_and_as_reviewed(name: str, snapshot: SnapshotAssertion) -> None:
    made = manifests(name)
    for document in made:
        check_manifest(document)
    assert made == snapshot


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_named_as_it_is_called(name: str) -> None:
    assert recipe(name, **needed(name)).name == name


RESNET50 = ("python", "-m", "training.resnet50", "--data-dir", "/fsx/data/imagenet", "--output-dir")


@pytest.mark.parametrize(
    ("name", "instance_type", "options"),
    [
        # 25 Gb/s of TCP need half the bytes; EFA does not, and float16 can lose the smallest gradients.
        ("resnet50-p3", "p3.16xlarge", ("--compression", "fp16")),
        ("resnet50-p4d", "p4d.24xlarge", ()),
        ("resnet50-p5", "p5.48xlarge", ()),
        (
            "resnet50-spot",
            "p3.16xlarge",
            ("--compression", "fp16", "--checkpoint-steps", "200", "--on-bad-data", "skip"),
        ),
    ],
)
def test_resnet50_is_told_what_its_network_needs(name: str, instance_type: str, options: tuple[str, ...]) -> None:
    job = recipe(name)
    assert (job.instance_type, job.workers, job.world_size) == (instance_type, 2, 16)
    assert job.command == (*RESNET50, f"/fsx/runs/{name}", "--batch-size", "256", *options)
    assert job.environment == {"TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT": "1"}


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        (
            "resnet50-p3",
            {
                "NCCL_NET": "Socket",
                "HOROVOD_FUSION_THRESHOLD": "16777216",
                "HOROVOD_CYCLE_TIME": "1",
                "HOROVOD_HIERARCHICAL_ALLREDUCE": "1",
                "TRAINING_DATA_THREADS": "5",
            },
        ),
        (
            "resnet50-p4d",
            {
                "FI_PROVIDER": "efa",
                "HOROVOD_FUSION_THRESHOLD": "67108864",
                "HOROVOD_CYCLE_TIME": "0.5",
                "TRAINING_DATA_THREADS": "9",
            },
        ),
        (
            "resnet50-p5",
            {
                "FI_PROVIDER": "efa",
                "HOROVOD_FUSION_THRESHOLD": "67108864",
                "HOROVOD_CYCLE_TIME": "0.5",
                "TRAINING_DATA_THREADS": "21",
            },
        ),
    ],
)
def test_resnet50s_ranks_get_the_variables_of_their_hardware(name: str, variables: dict[str, str]) -> None:
    job = manifests(name)[0]["spec"]["mpiReplicaSpecs"]
    (launcher,) = job["Launcher"]["template"]["spec"]["containers"]
    exported = [word for before, word in pairwise(launcher["command"]) if before == "-x"]
    present = {entry["name"]: entry["value"] for entry in launcher["env"]}
    variables = {**variables, "TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT": "1", "TF_GPU_THREAD_MODE": "gpu_private"}
    assert {variable: present.get(variable) for variable in variables} == variables
    assert set(variables) <= set(exported)
    # What the published guides set, and NVIDIA's and AWS's libraries now decide better by themselves.
    assert not {"NCCL_PROTO", "FI_EFA_USE_DEVICE_RDMA", "NCCL_BUFFSIZE", "RDMAV_FORK_SAFE"} & set(exported)
    assert ("HOROVOD_HIERARCHICAL_ALLREDUCE" in exported) == (name == "resnet50-p3")


def test_resnet50_reads_what_was_staged() -> None:
    (job,) = manifests("stage-data")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][container["command"].index("--target") + 1] == "/fsx/data/imagenet"


def test_resnet50_on_spot_goes_on_with_one_node_of_four() -> None:
    job = recipe("resnet50-spot")
    assert (job.min_workers, job.largest, job.scheduling.capacity_type) == (1, 4, "SPOT")
    assert job.to_mpi_job().slots_per_worker == 8


def test_a_job_with_another_name_writes_into_another_folder() -> None:
    assert recipe("digits-p3", "mine").command[-1] == "/fsx/runs/mine"


def test_some_fields_are_others_than_the_recipes() -> None:
    job = recipe("digits-p4d", workers=4, image="repo/image:2")
    assert (job.workers, job.image, job.instance_type) == (4, "repo/image:2", "p4d.24xlarge")


def test_an_unknown_recipe() -> None:
    with pytest.raises(InputError) as caught:
        recipe("digits-p6")
    assert str(caught.value) == (
        "'recipe' is 'digits-p6', which is not known; did you mean digits-p5 or digits-p3 or digits-p4d?"
    )


def test_what_only_the_user_can_know() -> None:
    with pytest.raises(InputError) as caught:
        recipe("stage-data")
    assert caught.value.args == (
        "'source' is needed for stage-data; give the dataset's folder in S3, such as s3://<bucket>/data/imagenet/",
        "'service_account' is needed for stage-data; give the name of one whose pods may read that folder",
    )


def test_a_field_of_another_kind_of_job() -> None:
    with pytest.raises(InputError) as caught:
        recipe("tensorboard", workers=2, source="s3://bucket/data/")
    assert caught.value.args == (
        "'source' does not go with tensorboard; it goes with stage-data",
        "'workers' does not go with tensorboard; it goes with digits-p3, digits-p4d, digits-p5, digits-spot, "
        "resnet50-p3, resnet50-p4d, resnet50-p5, resnet50-spot",
    )
