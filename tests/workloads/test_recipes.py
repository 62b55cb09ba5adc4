from itertools import pairwise
from typing import Any, TypeVar, cast

import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import (
    ElasticHorovodJobSpec,
    HorovodJobSpec,
    InputError,
    NcclTestJobSpec,
    StageDataJobSpec,
    TensorBoardSpec,
    TorchElasticJobSpec,
)
from training_workloads.jobs.constructs import define_job
from training_workloads.recipes import NEEDS, RECIPES, RENAMED, known_recipe, recipe

NEEDED: dict[str, Any] = {"source": "s3://bucket/data/imagenet/", "service_account": "stage"}


def needed(name: str) -> dict[str, Any]:
    return {field: NEEDED[field] for field in NEEDS.get(name, {})}


Spec = TypeVar("Spec")


def made(kind: type[Spec], name: str, job_name: str | None = None, **changes: Any) -> Spec:
    """Return the job of a recipe whose kind is known."""
    job = recipe(name, job_name, **changes)
    assert isinstance(job, kind)
    return job


def manifests(name: str, **changes: Any) -> list[dict[str, Any]]:
    chart = cdk8s.Testing.chart()
    define_job(chart, "Job", spec=recipe(name, **needed(name), **changes))
    return list(cdk8s.Testing.synth(chart))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_valid(name: str) -> None:
    for document in manifests(name):
        check_manifest(document)


@pytest.mark.parametrize(
    ("name", "kind", "instance_type", "size"),
    [
        ("digits", HorovodJobSpec, "p4d.24xlarge", (2, 1)),
        ("digits-p4d", HorovodJobSpec, "p4d.24xlarge", (2, 8)),
        ("digits-p5", HorovodJobSpec, "p5.48xlarge", (2, 8)),
        ("digits-spot", ElasticHorovodJobSpec, "p4d.24xlarge", (2, 1)),
        ("resnet50-p3dn", HorovodJobSpec, "p3dn.24xlarge", (2, 8)),
        ("resnet50-p4d", HorovodJobSpec, "p4d.24xlarge", (2, 8)),
        ("resnet50-p5", HorovodJobSpec, "p5.48xlarge", (2, 8)),
        ("resnet50-spot", ElasticHorovodJobSpec, "p4d.24xlarge", (2, 8)),
        ("mask-rcnn-p3dn", HorovodJobSpec, "p3dn.24xlarge", (2, 8)),
        ("mask-rcnn-p4d", HorovodJobSpec, "p4d.24xlarge", (2, 8)),
        ("mask-rcnn-spot", ElasticHorovodJobSpec, "p4d.24xlarge", (2, 8)),
        ("nccl-p3dn", NcclTestJobSpec, "p3dn.24xlarge", (2, 8)),
        ("nccl-p4d", NcclTestJobSpec, "p4d.24xlarge", (2, 8)),
        ("nccl-p5", NcclTestJobSpec, "p5.48xlarge", (2, 8)),
    ],
)
def test_a_recipe_on_gpus_has_its_hardware(name: str, kind: type, instance_type: str, size: tuple[int, int]) -> None:
    job = made(cast("type[HorovodJobSpec | NcclTestJobSpec]", kind), name)
    assert type(job) is kind
    assert job.instance_type == instance_type
    assert (job.mpi_job.workers, job.mpi_job.slots_per_worker) == size


@pytest.mark.parametrize("name", ["digits", "digits-p4d", "digits-p5", "digits-spot"])
def test_a_recipe_of_the_digits_runs_their_program(name: str) -> None:
    assert made(HorovodJobSpec, name).command == (
        "python",
        "-m",
        "training.digits",
        "--output-dir",
        f"/fsx/runs/{name}",
    )


@pytest.mark.parametrize(
    ("name", "image", "model", "batch_size"),
    [
        # CUDA 13, and so the newest PyTorch, has no code for V100.
        ("torch-resnet50-p3dn", "training-torch-cuda12", "resnet50", "256"),
        ("torch-resnet50-p4d", "training-torch", "resnet50", "256"),
        ("torch-efficientnet-b7-p3dn", "training-torch-cuda12", "efficientnet-b7", "8"),
        ("torch-efficientnet-b7-p4d", "training-torch", "efficientnet-b7", "8"),
    ],
)
def test_a_recipe_of_torch_has_the_image_and_the_batch_of_its_hardware(
    name: str, image: str, model: str, batch_size: str
) -> None:
    job = made(TorchElasticJobSpec, name)
    assert job.instance_type == {"p3dn": "p3dn.24xlarge", "p4d": "p4d.24xlarge"}[name.rpartition("-")[2]]
    assert (job.image, job.workers, job.resources.gpus) == (f"localhost/{image}:latest", 2, 8)
    program = ("python", "-m", "training.torch_imagenet")
    folders = ("--data-dir", "/fsx/data/imagenet", "--output-dir", f"/fsx/runs/{name}")
    options = ("--model", model, "--batch-size", batch_size, "--checkpoint-every", "500steps")
    assert job.command == (*program, *folders, *options)


@pytest.mark.parametrize(
    ("name", "workers"),
    [("torch-resnet50-p3dn", "11"), ("torch-resnet50-p4d", "11"), ("torch-efficientnet-b7-p4d", "11")],
)
def test_a_rank_of_torch_reads_with_the_vcpus_of_its_gpu(name: str, workers: str) -> None:
    (container,) = manifests(name)[0]["spec"]["template"]["spec"]["containers"]
    assert {"name": "TRAINING_DATA_THREADS", "value": workers} in container["env"]


def test_digits_on_spot_runs_with_one_to_four_workers() -> None:
    job = made(ElasticHorovodJobSpec, "digits-spot")
    assert (job.min_workers, job.largest, job.scheduling.capacity_type) == (1, 4, "SPOT")


def test_the_data_is_staged_on_lustre_and_tensorboard_shows_every_run() -> None:
    staging = made(StageDataJobSpec, "stage-data", **NEEDED)
    board = made(TensorBoardSpec, "tensorboard")
    assert (staging.file_system, staging.target, staging.pods) == ("lustre", "/fsx/data/imagenet", 1)
    assert (board.folder, board.volume.claim) == ("runs", "training-lustre")


@pytest.mark.parametrize("name", RECIPES)
def test_a_job_has_the_name_of_its_recipe(name: str) -> None:
    assert recipe(name, **needed(name)).name == name


RESNET50 = ("python", "-m", "training.resnet50", "--data-dir", "/fsx/data/imagenet", "--output-dir")


@pytest.mark.parametrize(
    ("name", "instance_type", "options"),
    [
        # EFA does not need fewer bytes, and float16 can lose the smallest gradients.
        ("resnet50-p3dn", "p3dn.24xlarge", ()),
        ("resnet50-p4d", "p4d.24xlarge", ()),
        ("resnet50-p5", "p5.48xlarge", ()),
        ("resnet50-spot", "p4d.24xlarge", ("--checkpoint-every", "400steps", "--on-bad-data", "skip")),
    ],
)
def test_resnet50_has_the_options_of_its_network(name: str, instance_type: str, options: tuple[str, ...]) -> None:
    job = made(HorovodJobSpec, name)
    assert (job.instance_type, job.workers, job.world_size) == (instance_type, 2, 16)
    assert job.command == (*RESNET50, f"/fsx/runs/{name}", "--batch-size", "256", *options)
    assert job.environment == {"TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT": "1"}


@pytest.mark.parametrize(
    ("name", "changes", "variables"),
    [
        (
            "resnet50-p3dn",
            {"efa_interfaces": 0},
            {
                "NCCL_NET": "Socket",
                "HOROVOD_FUSION_THRESHOLD": "16777216",
                "HOROVOD_CYCLE_TIME": "1",
                "HOROVOD_HIERARCHICAL_ALLREDUCE": "1",
                "TRAINING_DATA_THREADS": "11",
            },
        ),
        (
            "resnet50-p3dn",
            {},
            {
                "FI_PROVIDER": "efa",
                "NCCL_NET": "AWS Libfabric",
                "HOROVOD_FUSION_THRESHOLD": "67108864",
                "HOROVOD_CYCLE_TIME": "0.5",
                "TRAINING_DATA_THREADS": "11",
            },
        ),
        (
            "resnet50-p4d",
            {},
            {
                "FI_PROVIDER": "efa",
                "NCCL_NET": "AWS Libfabric",
                "HOROVOD_FUSION_THRESHOLD": "67108864",
                "HOROVOD_CYCLE_TIME": "0.5",
                "TRAINING_DATA_THREADS": "11",
            },
        ),
        (
            "resnet50-p5",
            {},
            {
                "FI_PROVIDER": "efa",
                "NCCL_NET": "AWS Libfabric",
                "HOROVOD_FUSION_THRESHOLD": "67108864",
                "HOROVOD_CYCLE_TIME": "0.5",
                "TRAINING_DATA_THREADS": "23",
            },
        ),
    ],
)
def test_resnet50s_ranks_get_the_variables_of_their_hardware(
    name: str, changes: dict[str, Any], variables: dict[str, str]
) -> None:
    job = manifests(name, **changes)[0]["spec"]["mpiReplicaSpecs"]
    (launcher,) = job["Launcher"]["template"]["spec"]["containers"]
    exported = [word for before, word in pairwise(launcher["command"]) if before == "-x"]
    present = {entry["name"]: entry["value"] for entry in launcher["env"]}
    variables = {**variables, "TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT": "1", "TF_GPU_THREAD_MODE": "gpu_private"}
    assert {variable: present.get(variable) for variable in variables} == variables
    assert set(variables) <= set(exported)
    # What the published guides set, and NVIDIA's and AWS's libraries now choose better themselves.
    assert not {"NCCL_PROTO", "FI_EFA_USE_DEVICE_RDMA", "NCCL_BUFFSIZE", "RDMAV_FORK_SAFE"} & set(exported)
    assert ("HOROVOD_HIERARCHICAL_ALLREDUCE" in exported) == ("HOROVOD_HIERARCHICAL_ALLREDUCE" in variables)


def test_resnet50_reads_the_folder_of_the_staged_data() -> None:
    (job,) = manifests("stage-data")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][container["command"].index("--target") + 1] == "/fsx/data/imagenet"


def test_resnet50_on_spot_continues_with_one_node_of_four() -> None:
    job = made(ElasticHorovodJobSpec, "resnet50-spot")
    assert (job.min_workers, job.largest, job.scheduling.capacity_type) == (1, 4, "SPOT")
    assert job.mpi_job.slots_per_worker == 8


@pytest.mark.parametrize(
    ("name", "backbone", "options"),
    [
        ("mask-rcnn-p3dn", "resnet50-p3dn", ()),
        ("mask-rcnn-p4d", "resnet50-p4d", ()),
        ("mask-rcnn-spot", "resnet50-spot", ("--checkpoint-every", "200steps", "--on-bad-data", "skip")),
    ],
)
def test_mask_rcnn_takes_the_backbone_of_the_same_hardware(name: str, backbone: str, options: tuple[str, ...]) -> None:
    folders = ("--data-dir", "/fsx/data/coco", "--output-dir", f"/fsx/runs/{name}")
    trained = ("--backbone", f"/fsx/runs/{backbone}/model.keras", "--recipe", "throughput")
    assert made(HorovodJobSpec, name).command == ("python", "-m", "training.mask_rcnn", *folders, *trained, *options)


def test_mask_rcnn_on_spot_continues_with_one_node_of_four() -> None:
    job = made(ElasticHorovodJobSpec, "mask-rcnn-spot")
    assert (job.min_workers, job.largest, job.scheduling.capacity_type) == (1, 4, "SPOT")


@pytest.mark.parametrize(("file_system", "target"), [("lustre", "/fsx/data/coco"), ("efs", "/efs/data/coco")])
def test_coco_is_staged_on_lustre_or_efs(file_system: str, target: str) -> None:
    given = {"source": "s3://bucket/data/coco/", "service_account": "stage"}
    assert made(StageDataJobSpec, "stage-data", **given, file_system=file_system).target == target


def test_a_job_with_another_name_writes_into_another_folder() -> None:
    assert made(HorovodJobSpec, "digits", "mine").command[-1] == "/fsx/runs/mine"


def test_fields_of_a_recipe_can_be_replaced() -> None:
    job = made(HorovodJobSpec, "digits-p4d", workers=4, image="repo/image:2")
    assert (job.workers, job.image, job.instance_type) == (4, "repo/image:2", "p4d.24xlarge")


def test_rejects_an_unknown_recipe() -> None:
    with pytest.raises(InputError) as caught:
        recipe("digits-p6")
    assert str(caught.value) == (
        "'recipe' is 'digits-p6', but it is not known; did you mean digits-p5 or digits-p4d or digits-spot?"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("digits-p3", "digits"),
        ("resnet50-p3", "resnet50-p3dn"),
        ("mask-rcnn-p3", "mask-rcnn-p3dn"),
        ("nccl-p3", "nccl-p3dn"),
        ("torch-resnet50-p3", "torch-resnet50-p3dn"),
        ("torch-efficientnet-b7-p3", "torch-efficientnet-b7-p3dn"),
    ],
)
def test_the_old_name_of_a_recipe_is_answered_with_the_new_one(old: str, new: str) -> None:
    with pytest.raises(InputError) as caught:
        recipe(old)
    assert str(caught.value) == f"'recipe' is '{old}', but AWS has retired its instance type; give {new}"
    assert new in RECIPES


def test_every_renamed_recipe_exists_under_its_new_name_only() -> None:
    assert len(RENAMED) == 6
    assert set(RENAMED.values()) <= set(RECIPES)
    assert set(RENAMED) & set(RECIPES) == set()


def test_a_recipe_of_a_user_may_have_an_old_name() -> None:
    assert list(known_recipe("digits-p3", ["digits-p3"])) == []


def test_rejects_a_recipe_without_what_only_the_user_knows() -> None:
    with pytest.raises(InputError) as caught:
        recipe("stage-data")
    assert str(caught.value).splitlines() == [
        "'source' is missing, but stage-data needs it; give the dataset's folder in S3, such as "
        "s3://<bucket>/data/imagenet/",
        "'service_account' is missing, but stage-data needs it; give the name of one whose pods may read that folder",
    ]


def test_rejects_a_field_of_another_kind_of_job() -> None:
    with pytest.raises(InputError) as caught:
        recipe("tensorboard", workers=2, source="s3://bucket/data/")
    assert str(caught.value).splitlines() == [
        "'source' is 's3://bucket/data/', but tensorboard does not have it; omit it, or use it with stage-data",
        "'workers' is 2, but tensorboard does not have it; omit it, or use it with digits, digits-p4d, "
        "digits-p5, digits-spot, mask-rcnn-p3dn, mask-rcnn-p4d, mask-rcnn-spot, resnet50-p3dn, resnet50-p4d, "
        "resnet50-p5, resnet50-spot, torch-efficientnet-b7-p3dn, torch-efficientnet-b7-p4d, torch-resnet50-p3dn, "
        "torch-resnet50-p4d",
    ]
