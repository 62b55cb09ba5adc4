from dataclasses import replace
from typing import Any

import pytest

from tests.workloads.sagemaker.sagemaker_samples import (
    IMAGE,
    PLACE,
    WITH_LUSTRE,
    WITHOUT_DISK,
    WITHOUT_VPC,
    job,
    own_job,
    request,
)
from training_workloads import ElasticHorovodJobSpec, TorchElasticJobSpec
from training_workloads.recipes import RECIPES, recipe
from training_workloads.sagemaker.job_request import SageMakerJob
from training_workloads.validation import InputError

LUSTRE_FOLDER = "fs-0123456789abcdef0:/abcdefgh/data/imagenet"
EFS_FOLDER = "fs-0fedcba9876543210:/data/imagenet"

#: The container arguments before the program's module, its hyperparameters, and its channels, of each built-in recipe
#: that a training job can have.
SHORT: dict[str, tuple[str, int, list[str], dict[str, str], dict[str, str]]] = {
    "digits": (
        "ml.p4d.24xlarge",
        1,
        ["--processes-per-host", "2", "--", "python", "-m", "training.digits"],
        {"output-dir": "/opt/ml/checkpoints"},
        {},
    ),
    "digits-p4d": (
        "ml.p4d.24xlarge",
        2,
        ["--processes-per-host", "8", "--", "python", "-m", "training.digits"],
        {"output-dir": "/opt/ml/checkpoints"},
        {},
    ),
    "digits-p5": (
        "ml.p5.48xlarge",
        2,
        ["--processes-per-host", "8", "--", "python", "-m", "training.digits"],
        {"output-dir": "/opt/ml/checkpoints"},
        {},
    ),
    "resnet50-p3dn": (
        "ml.p3dn.24xlarge",
        2,
        ["--processes-per-host", "8", "--", "python", "-m", "training.resnet50"],
        {"data-dir": "/opt/ml/input/data/training", "output-dir": "/opt/ml/checkpoints", "batch-size": "256"},
        {"training": "s3://bucket/data/imagenet/"},
    ),
    "resnet50-p4d": (
        "ml.p4d.24xlarge",
        2,
        ["--processes-per-host", "8", "--", "python", "-m", "training.resnet50"],
        {"data-dir": "/opt/ml/input/data/training", "output-dir": "/opt/ml/checkpoints", "batch-size": "256"},
        {"training": "s3://bucket/data/imagenet/"},
    ),
    "resnet50-p5": (
        "ml.p5.48xlarge",
        2,
        ["--processes-per-host", "8", "--", "python", "-m", "training.resnet50"],
        {"data-dir": "/opt/ml/input/data/training", "output-dir": "/opt/ml/checkpoints", "batch-size": "256"},
        {"training": "s3://bucket/data/imagenet/"},
    ),
    "mask-rcnn-p3dn": (
        "ml.p3dn.24xlarge",
        2,
        ["--processes-per-host", "8", "--", "python", "-m", "training.mask_rcnn"],
        {
            "data-dir": "/opt/ml/input/data/training",
            "output-dir": "/opt/ml/checkpoints",
            "backbone": "/opt/ml/input/data/backbone/model.keras",
            "recipe": "throughput",
        },
        {"training": "s3://bucket/data/coco/", "backbone": "s3://bucket/runs/resnet50-p3dn/model.keras"},
    ),
    "mask-rcnn-p4d": (
        "ml.p4d.24xlarge",
        2,
        ["--processes-per-host", "8", "--", "python", "-m", "training.mask_rcnn"],
        {
            "data-dir": "/opt/ml/input/data/training",
            "output-dir": "/opt/ml/checkpoints",
            "backbone": "/opt/ml/input/data/backbone/model.keras",
            "recipe": "throughput",
        },
        {"training": "s3://bucket/data/coco/", "backbone": "s3://bucket/runs/resnet50-p4d/model.keras"},
    ),
}


def channels(made: dict[str, Any]) -> dict[str, Any]:
    return {each["ChannelName"]: each for each in made.get("InputDataConfig", [])}


def uri(channel: dict[str, Any]) -> str:
    return str(channel["DataSource"]["S3DataSource"]["S3Uri"])


def test_the_whole_request_of_a_job() -> None:
    made = request(job("resnet50-p3dn", name="resnet50-1", spot=True))
    metrics = made["AlgorithmSpecification"].pop("MetricDefinitions")
    assert [each["Name"] for each in metrics][:3] == ["loss", "learning_rate", "images_per_second"]
    key = made["Environment"]["TRAINING_REPORT_KEY"]
    assert (len(key), key == request(job("resnet50-p3dn"))["Environment"]["TRAINING_REPORT_KEY"]) == (64, False)
    assert made == {
        "TrainingJobName": "resnet50-1",
        "AlgorithmSpecification": {
            "TrainingImage": IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-m", "training.pods.sagemaker"],
            "ContainerArguments": ["--processes-per-host", "8", "--", "python", "-m", "training.resnet50"],
        },
        "RoleArn": "arn:aws:iam::111122223333:role/SageMaker",
        "HyperParameters": {
            "data-dir": "/opt/ml/input/data/training",
            "output-dir": "/opt/ml/checkpoints",
            "batch-size": "256",
        },
        "InputDataConfig": [
            {
                "ChannelName": "training",
                "DataSource": {
                    "S3DataSource": {
                        "S3DataType": "S3Prefix",
                        "S3Uri": "s3://bucket/data/imagenet/",
                        "S3DataDistributionType": "FullyReplicated",
                    }
                },
                "InputMode": "File",
            }
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/runs/output", "CompressionType": "NONE"},
        "ResourceConfig": {"InstanceType": "ml.p3dn.24xlarge", "InstanceCount": 2},
        "VpcConfig": {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": ["subnet-0123456789abcdef0"]},
        # Seven days, and a day of waiting.
        "StoppingCondition": {"MaxRuntimeInSeconds": 604_800, "MaxWaitTimeInSeconds": 691_200},
        "EnableManagedSpotTraining": True,
        "CheckpointConfig": {"S3Uri": "s3://bucket/runs/resnet50-1/", "LocalPath": "/opt/ml/checkpoints"},
        "Environment": {
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "11",
            "TRAINING_DATA_THREADS": "11",
            "TF_GPU_THREAD_MODE": "gpu_private",
            "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "600",
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,NET",
            "FI_PROVIDER": "efa",
            "NCCL_NET": "AWS Libfabric",
            "HOROVOD_FUSION_THRESHOLD": "67108864",
            "HOROVOD_CYCLE_TIME": "0.5",
            "TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT": "1",
            "TRAINING_REPORT_KEY": key,
        },
        "RetryStrategy": {"MaximumRetryAttempts": 10},
    }


@pytest.mark.parametrize("name", SHORT)
def test_each_recipe_is_a_training_job(name: str) -> None:
    made = request(job(name))
    resources, container = made["ResourceConfig"], made["AlgorithmSpecification"]
    type_, count, arguments, hyperparameters, data = SHORT[name]
    assert (resources["InstanceType"], resources["InstanceCount"]) == (type_, count)
    assert container["ContainerArguments"] == arguments
    assert made["HyperParameters"] == hyperparameters
    assert {channel: uri(each) for channel, each in channels(made).items()} == data


def test_every_recipe_is_a_training_job_or_says_why_not() -> None:
    reasons = {}
    for name in sorted(RECIPES.keys() - SHORT.keys() - {"stage-data"}):
        spec: Any = recipe(name, image=IMAGE)
        if isinstance(spec, TorchElasticJobSpec):
            made = request(SageMakerJob(spec=spec, name=name))
            arguments = made["AlgorithmSpecification"]["ContainerArguments"]
            assert arguments[2:5] == ["--", "torchrun", "--no-python"], name
            assert uri(channels(made)["training"]) == "s3://bucket/data/imagenet/"
            continue
        with pytest.raises(InputError) as raised:
            SageMakerJob(spec=spec, name=name)
        (problem,) = raised.value.problems
        reasons[name] = problem.allowed
    elastic = "it is an elastic job, and SageMaker has no workers that come and go"
    assert reasons == {
        "digits-spot": elastic,
        "mask-rcnn-spot": elastic,
        "resnet50-spot": elastic,
        "nccl-p3dn": "SageMaker does not run a NcclTestJob",
        "nccl-p4d": "SageMaker does not run a NcclTestJob",
        "nccl-p5": "SageMaker does not run a NcclTestJob",
        "tensorboard": "SageMaker does not run a TensorBoard",
    }


def test_a_torch_job_starts_with_torchrun_and_has_its_variables() -> None:
    command = (
        "python",
        "-m",
        "training.torch_imagenet",
        "--data-dir",
        "/fsx/data/imagenet",
        "--output-dir",
        "/fsx/runs/t",
    )
    spec = TorchElasticJobSpec(name="t", image=IMAGE, command=command, instance_type="p4d.24xlarge", workers=2)
    made = request(SageMakerJob(spec=spec, name="t"))
    assert made["AlgorithmSpecification"]["ContainerArguments"] == [
        *("--processes-per-host", "8", "--"),
        *("torchrun", "--no-python", "python", "-m", "training.torch_imagenet"),
    ]
    assert made["HyperParameters"] == {"data-dir": "/opt/ml/input/data/training", "output-dir": "/opt/ml/checkpoints"}
    assert made["Environment"]["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"
    assert "HOROVOD_FUSION_THRESHOLD" not in made["Environment"]
    assert made["RetryStrategy"] == {"MaximumRetryAttempts": 3}


@pytest.mark.parametrize("spot", [False, True])
@pytest.mark.parametrize(
    ("options", "channel"),
    [
        (
            {"data": "s3://other/imagenet/", "input_mode": "File"},
            {"S3DataType": "S3Prefix", "S3Uri": "s3://other/imagenet/", "S3DataDistributionType": "FullyReplicated"},
        ),
        (
            {"data": "s3://other/imagenet", "input_mode": "FastFile"},
            {"S3DataType": "S3Prefix", "S3Uri": "s3://other/imagenet/", "S3DataDistributionType": "FullyReplicated"},
        ),
        (
            {"lustre": LUSTRE_FOLDER},
            {
                "FileSystemId": "fs-0123456789abcdef0",
                "FileSystemType": "FSxLustre",
                "DirectoryPath": "/abcdefgh/data/imagenet",
                "FileSystemAccessMode": "ro",
            },
        ),
        (
            {"efs": EFS_FOLDER},
            {
                "FileSystemId": "fs-0fedcba9876543210",
                "FileSystemType": "EFS",
                "DirectoryPath": "/data/imagenet",
                "FileSystemAccessMode": "ro",
            },
        ),
    ],
)
def test_each_data_source_with_and_without_spot(options: dict[str, Any], channel: dict[str, str], spot: bool) -> None:
    made = request(job("resnet50-p4d", spot=spot, **options))
    found = channels(made)["training"]
    (source,) = found["DataSource"].values()
    assert source == channel
    assert found["InputMode"] == options.get("input_mode", "File")
    assert made["EnableManagedSpotTraining"] is spot
    assert ("MaxWaitTimeInSeconds" in made["StoppingCondition"]) is spot


def test_the_lustre_of_the_stack_is_the_default() -> None:
    found = channels(request(job("mask-rcnn-p4d"), WITH_LUSTRE))
    folders = {name: each["DataSource"]["FileSystemDataSource"]["DirectoryPath"] for name, each in found.items()}
    assert folders == {"training": "/abcdefgh/data/coco", "backbone": "/abcdefgh/runs/resnet50-p4d"}
    # A way to read S3 is one that the user wants, for the data set.
    found = channels(request(job("mask-rcnn-p4d", input_mode="FastFile"), WITH_LUSTRE))
    assert uri(found["training"]) == "s3://bucket/data/coco/"
    assert "FileSystemDataSource" in found["backbone"]["DataSource"]


def test_the_input_mode_is_that_of_the_data_set() -> None:
    found = channels(request(job("mask-rcnn-p4d", input_mode="FastFile")))
    assert {name: each["InputMode"] for name, each in found.items()} == {"training": "FastFile", "backbone": "File"}


def test_a_folder_that_the_stacks_role_may_not_read_is_rejected() -> None:
    place = replace(PLACE, data_prefix="datasets")
    with pytest.raises(InputError) as raised:
        request(job("mask-rcnn-p4d"), place)
    (problem,) = raised.value.problems
    assert str(problem) == (
        "'data' is 's3://bucket/data/coco/', but the stack's role reads only s3://bucket/datasets/ and "
        "s3://bucket/runs/; give a folder in s3://bucket/datasets/, or change sagemaker.data_prefix in cluster.yaml "
        "and deploy it"
    )
    found = channels(request(job("mask-rcnn-p4d", data="s3://bucket/datasets/coco"), place))
    assert uri(found["training"]) == "s3://bucket/datasets/coco/"
    # The role of another bucket's owner may allow it.
    assert request(job("resnet50-p4d", data="s3://other/imagenet"), place)
    assert request(job("resnet50-p4d"), replace(PLACE, data_prefix="", lustre_folder=None))


def test_the_key_of_the_stack_encrypts_the_output() -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/1"
    assert request(job(), replace(PLACE, key=key))["OutputDataConfig"]["KmsKeyId"] == key


def test_gloo_has_no_all_reduce_in_stages() -> None:
    made = job("resnet50-p3dn", instances=4, spec={"efa_interfaces": 0})
    assert "HOROVOD_HIERARCHICAL_ALLREDUCE" not in request(made)["Environment"]


def test_a_type_without_a_disk_gets_one_that_the_data_fits_on() -> None:
    without: dict[str, Any] = {"spec": {"instance_type": WITHOUT_DISK}}
    assert request(job(**without))["ResourceConfig"]["VolumeSizeInGB"] == 500
    assert request(job(**without, input_mode="FastFile"))["ResourceConfig"]["VolumeSizeInGB"] == 100
    assert request(job("digits", **without))["ResourceConfig"]["VolumeSizeInGB"] == 100
    assert request(job(**without, volume_gb=2000))["ResourceConfig"]["VolumeSizeInGB"] == 2000
    assert "VolumeSizeInGB" not in request(job("resnet50-p4d"))["ResourceConfig"]


def test_ranks_are_on_as_few_instances_as_have_room_for_them() -> None:
    assert job("digits").hosts == (1, 2)
    assert job("digits", spec={"workers": 9}).hosts == (3, 3)
    assert job("digits", spec={"instance_type": "g5.xlarge"}).hosts == (2, 1)
    assert job("digits", instances=3).hosts == (3, 8)


def test_efa_is_demanded_only_where_a_training_job_has_it_for_certain() -> None:
    assert request(job("resnet50-p4d"))["Environment"]["NCCL_NET"] == "AWS Libfabric"
    p5 = request(job("resnet50-p5"))["Environment"]
    assert not {"NCCL_NET", "FI_PROVIDER"} & p5.keys()
    assert request(job("resnet50-p5", spec={"efa_interfaces": 0}))["Environment"]["NCCL_NET"] == "Socket"
    # The entry point knows the interface.
    assert "NCCL_SOCKET_IFNAME" not in p5


# Without the slash SageMaker would copy the runs whose names begin like it, too.
@pytest.mark.parametrize("folder", ["s3://bucket/runs/first", "s3://bucket/runs/first/"])
def test_a_job_continues_the_run_of_another(folder: str) -> None:
    made = request(job("resnet50-p4d", name="second", resume="first", resume_folder=folder))
    assert made["CheckpointConfig"]["S3Uri"] == "s3://bucket/runs/first/"


def test_a_program_that_saves_nothing_has_no_folder_in_s3() -> None:
    made = own_job("python", "train.py")
    assert "CheckpointConfig" not in request(made)
    assert made.run_folder(PLACE) == ""


def test_a_program_that_saves_nothing_cannot_resume() -> None:
    with pytest.raises(InputError, match="'resume' is 'first', but the program has no folder in /opt/ml/checkpoints"):
        own_job("python", "train.py", resume="first")


def test_without_a_vpc_s3_is_enough() -> None:
    assert "VpcConfig" not in request(job("resnet50-p4d"), WITHOUT_VPC)
    for options in ({"lustre": LUSTRE_FOLDER}, {"efs": EFS_FOLDER}):
        with pytest.raises(InputError, match=r"'subnets' is missing, but a job reaches fs-0.* only in its VPC"):
            request(job("resnet50-p4d", **options), WITHOUT_VPC)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "my_job"}, r"'name' is 'my_job'; give letters, digits and '-', at most 63"),
        ({"name": "a" * 64}, "'name' is 'a+'; give letters"),
        ({"name": "-a"}, "'name' is '-a'; give letters"),
        ({"name": "output"}, "'name' is 'output', but runs/output of the bucket has the results of"),
        ({"spec": {"efa_interfaces": 1}}, "'efa_interfaces' is 1, but a training job has all interfaces of its"),
        ({"instances": 0}, "'instances' is 0; give 1 or more"),
        ({"resume": "a_b"}, "'resume' is 'a_b'; give letters"),
        (
            {"volume_gb": 100},
            "'volume_gb' is 100, but p4d.24xlarge has an instance store of 8000 GB, which SageMaker",
        ),
        (
            {"spec": {"instance_type": WITHOUT_DISK}, "volume_gb": 16385},
            "'volume_gb' is 16385; give 16384 or less",
        ),
        ({"max_wait_seconds": 60}, "'max_wait' is 60, but only a job on Spot capacity waits for it"),
        (
            {"spot": True, "max_wait_seconds": 60},
            "'max_wait' is 60, but the job may run for 604800 seconds, and both are counted together",
        ),
        ({"spec": {"deadline_seconds": 2_419_201}}, "'max_runtime' is 2419201; give 2419200 or less"),
        ({"data": "bucket/folder"}, "'data' is 'bucket/folder'; give a folder such as s3://bucket/data/imagenet/"),
        ({"input_mode": "Pipe"}, "'input_mode' is 'Pipe'; give one of File, FastFile"),
        ({"lustre": "fs-0123456789abcdef0"}, "'lustre' is 'fs-0.*'; give the file system and the folder, such as fs-"),
        ({"lustre": "fs-0123456789abcdef0:/"}, "'lustre' is .*, but the path of Lustre begins with the mount name"),
        ({"efs": "/data"}, "'efs' is '/data'; give the file system and the folder, such as fs-0123456789abcdef0:/data"),
        (
            {"data": "s3://abc/d", "efs": EFS_FOLDER},
            "'efs' is 'fs-.*', but --data says another place of the data",
        ),
        (
            {"efs": EFS_FOLDER, "input_mode": "File"},
            "'input_mode' is 'File', but a file system is mounted, and only data",
        ),
    ],
)
def test_a_mistake_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        job("resnet50-p4d", **changes)


def test_all_mistakes_are_named_at_once() -> None:
    spec = recipe("digits", instance_type="g4dn.metal", gpus_per_worker=8)
    with pytest.raises(InputError) as raised:
        SageMakerJob(spec=spec, name="a_b", instances=0, data="s3://bucket/data", input_mode="File")  # type: ignore[arg-type]
    assert [problem.path for problem in raised.value.problems] == [
        ("name",),
        ("image",),
        ("instance_type",),
        ("instances",),
        ("data",),
        ("input_mode",),
    ]
    texts = str(raised.value)
    assert "'image' is 'localhost/training:latest', but it has no digest, by which" in texts
    assert "SageMaker has no training jobs on this type; choose g4dn.12xlarge, which has the same GPU" in texts
    assert "the program of digits reads no data set: it has no --data-dir on a shared file system; omit it" in texts


def test_spot_needs_a_program_that_saves_checkpoints() -> None:
    with pytest.raises(InputError, match="'spot' is True, but the program writes nothing to /opt/ml/checkpoints"):
        own_job("python", "train.py", spot=True)
    assert own_job("python", "train.py", "--output-dir", "/fsx/runs/mine", spot=True).is_spot


def test_an_elastic_job_is_rejected() -> None:
    spec = ElasticHorovodJobSpec(name="e", image=IMAGE, command=("a",), instance_type="p4d.24xlarge", workers=2)
    with pytest.raises(InputError, match="'recipe' is 'e', but it is an elastic job, and SageMaker has no"):
        SageMakerJob(spec=spec, name="e")


def test_a_channel_without_a_place_is_rejected() -> None:
    mine = own_job("python", "train.py", "--data", "/opt/ml/input/data/training")
    with pytest.raises(InputError, match="the program reads the channel training, which has no place; give --"):
        request(mine, PLACE)
    assert "training" in channels(request(replace(mine, data="s3://bucket/mine"), PLACE))


def test_an_argument_is_at_most_as_long_as_sagemaker_takes() -> None:
    with pytest.raises(InputError, match="it has 257 characters, and an argument on SageMaker has at most 256"):
        own_job("python", "train.py", "x" * 257)
    with pytest.raises(InputError, match="106 words remain, and SageMaker takes at most 100"):
        own_job("python", "train.py", *map(str, range(101)))
    # As the value of an option it may have 2,500.
    assert request(own_job("python", "train.py", "--words", "x" * 2500))["HyperParameters"] == {"words": "x" * 2500}


def test_what_only_the_model_of_the_api_knows_is_rejected_too() -> None:
    with pytest.raises(InputError, match=r"'Environment.A' is .*, but it has 600 characters, and SageMaker takes at"):
        request(job("resnet50-p4d", spec={"environment": {"A": "x" * 600}}))
