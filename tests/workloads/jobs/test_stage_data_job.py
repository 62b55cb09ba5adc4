from typing import Any

import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import InputError, SharedVolume, StageDataJob, StageDataJobSpec


def spec(**changes: Any) -> StageDataJobSpec:
    defaults: dict[str, Any] = {
        "name": "stage",
        "image": "image:1",
        "source": "s3://bucket/data/imagenet/",
        "service_account": "stage",
    }
    return StageDataJobSpec(**{**defaults, **changes})


def manifest(job: StageDataJobSpec) -> dict[str, Any]:
    chart = cdk8s.Testing.chart()
    StageDataJob(chart, "Job", spec=job)
    (document,) = cdk8s.Testing.synth(chart)
    check_manifest(document)
    return dict(document)


def pod(job: StageDataJobSpec) -> dict[str, Any]:
    return dict(manifest(job)["spec"]["template"]["spec"])


def test_files_are_copied_to_efs() -> None:
    made = pod(spec(file_system="efs"))
    assert made["containers"][0]["command"][3] == "copy"
    assert "/efs/data/imagenet" in made["containers"][0]["command"]
    assert "--progress-folder" not in made["containers"][0]["command"]
    assert made["volumes"] == [{"name": "shared", "persistentVolumeClaim": {"claimName": "training-efs"}}]


def test_class_folders_follow_when_all_is_staged() -> None:
    job = spec(file_system="efs", source="s3://bucket/data/ilsvrc/", class_folders="data/imagenet")
    made = manifest(job)["spec"]
    (before,), (last,) = (made["template"]["spec"][kind] for kind in ("initContainers", "containers"))
    assert (before["name"], before["command"][2:4]) == ("stage", ["training.staging", "copy"])
    assert last["command"] == [
        *("python", "-m", "training.imagenet.class_folders"),
        *("--source", "/efs/data/ilsvrc", "--output-dir", "/efs/data/imagenet"),
    ]
    assert last["volumeMounts"] == [{"name": "shared", "mountPath": "/efs"}]
    rules = made["podFailurePolicy"]["rules"][1:]
    assert [each["onExitCodes"]["containerName"] for each in rules] == ["stage", "class-folders"]


def test_several_pods_share_the_files() -> None:
    made = manifest(spec(pods=4))["spec"]
    assert (made["completionMode"], made["completions"], made["parallelism"]) == ("Indexed", 4, 4)
    words = made["template"]["spec"]["containers"][0]["command"]
    assert words[words.index("--shards") + 1] == "4"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"source": "bucket/data"},
            "'source' is 'bucket/data'; give a folder in S3, such as s3://<bucket>/data/imagenet/",
        ),
        ({"source": "s3://bucket"}, "'source' is 's3://bucket'; give a folder in S3"),
        (
            {"source": "s3://b/data"},
            "'source' is 's3://b/data', but a bucket's name has 3 to 63 lower-case letters, digits, '-' and '.', and "
            "'b' is none; give a folder in S3, such as s3://<bucket>/data/imagenet/",
        ),
        ({"source": "s3://bucket/a/../b"}, "'source' is 's3://bucket/a/../b'; give a folder in S3"),
        ({"folder": "/fsx/data"}, "'folder' is '/fsx/data'; give a folder of the file system without a slash first"),
        ({"folder": "data/../../etc"}, "'folder' is 'data/../../etc'; give a folder of the file system"),
        ({"class_folders": "/efs/data"}, "'class_folders' is '/efs/data'; give a folder of the file system"),
        (
            {"class_folders": "data/imagenet", "pods": 4},
            "'class_folders' is 'data/imagenet', but 4 pods share the files, and none has all of them; use 1 pod",
        ),
        ({"file_system": "s3"}, "'file_system' is 's3'; give one of lustre, efs"),
        ({"pods": 0}, "'pods' is 0; give 1 or more"),
        ({"pods": 200_000}, "'pods' is 200000; give 100000 or less"),
        ({"service_account": ""}, "'service_account' is ''; give a name of lower-case letters"),
        ({"volume": "/fsx"}, "'volume' is '/fsx'; give SharedVolume(...)"),
        (
            {"name": "a" * 62},
            f"'name' is '{'a' * 62}', but Kubernetes names pods '<name>-0', of at most 63 characters; "
            "use a name of 61 characters or fewer",
        ),
        ({"name": "a" * 61, "pods": 11}, "use a name of 60 characters or fewer"),
        ({"name": "a_b"}, "'name' is 'a_b'; give lower-case letters, digits and '-', at most 63"),
        ({"image": ""}, "'image' is ''; give the image's address"),
        ({"namespace": "A"}, "'namespace' is 'A'; give lower-case letters"),
        ({"backoff_limit": -1}, "'backoff_limit' is -1; give 0 or more"),
    ],
)
def test_rejects_what_cannot_run(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(**change)
    assert message in str(caught.value)


def test_the_longest_name() -> None:
    assert spec(name="a" * 61).name == "a" * 61
    assert spec(name="a" * 60, pods=11).pods == 11


def test_another_folder_than_that_of_the_same_name() -> None:
    assert spec().target == "/fsx/data/imagenet"
    assert spec(folder="data/other/").target == "/fsx/data/other"


def test_another_file_system() -> None:
    job = spec(volume=SharedVolume(claim="mine", mount_path="/data"))
    assert job.target == "/data/data/imagenet"
