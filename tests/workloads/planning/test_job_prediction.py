import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from setup.source_tree import ROOT
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.volumes import EFS_CLAIM, LUSTRE_CLAIM, SharedVolume
from training_workloads.planning.job_prediction import predicted_annotations
from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs

KEY = "training-cluster/prediction"


def job(name: str = "resnet50-p4d", *options: str, **changes: Any) -> HorovodJobSpec:
    spec = recipe(name, image="image:1")
    assert isinstance(spec, HorovodJobSpec)
    return spec.replaced(**{"command": (*spec.command, *options), **changes})


def predicted(spec: Any) -> Any:
    found = predicted_annotations(spec)
    return json.loads(found[KEY]) if found else None


@pytest.mark.parametrize(
    ("name", "images_per_second"),
    [
        # As `trainctl plan --nodes 2` with these types; docs/plan.md has the second one.
        ("resnet50-p3dn", 18_695),
        ("resnet50-p4d", 33_861),
        ("mask-rcnn-p3dn", 162),
        ("mask-rcnn-p4d", 410),
    ],
)
def test_a_recipe_that_the_plan_knows_has_its_speed(name: str, images_per_second: int) -> None:
    assert predicted(job(name)) == {"gpus": 16, "images_per_second": images_per_second}


@pytest.mark.parametrize("name", ["resnet50-p5", "resnet50-spot", "mask-rcnn-spot", "digits", "nccl-p4d"])
def test_other_recipes_have_none(name: str) -> None:
    assert predicted(recipe(name, image="image:1")) is None


@pytest.mark.parametrize(
    ("options", "as_many_images"),
    [
        (("--epochs", "3", "--optimizer", "lars", "--seed=1"), True),
        # What the program does by default.
        (("--xla=on", "--precision", "mixed_float16", "--decode", "cpu", "--image-size", "224"), True),
        (("--strategy", "horovod"), True),
        (("--cache", "records"), True),
        # Over EFA it has little to win: 3.8 ms become 2.4.
        (("--compression", "fp16"), False),
        (("--precision", "float32"), False),
    ],
)
def test_options_that_the_plan_knows(options: tuple[str, ...], as_many_images: bool) -> None:
    found = predicted(job("resnet50-p4d", *options))
    assert (found["images_per_second"] == 33_861) == as_many_images


@pytest.mark.parametrize(
    "options",
    [
        ("--batch-size", "128"),
        ("--batch-size=512",),
        ("--batch-size", "many"),
        ("--batch-size",),
        ("--xla", "off"),
        ("--deterministic",),
        # The rates and the constants are of Horovod's runs.
        ("--strategy", "multiworker"),
        ("--synthetic",),
        ("--decode", "gpu"),
        ("--cache", "decoded"),
        ("--image-size", "192"),
        ("--classes", "10"),
        ("--data-dir", "/efs/imagenet"),
        ("--compression", "fp8"),
    ],
)
def test_an_option_that_the_plan_does_not_know(options: tuple[str, ...]) -> None:
    assert predicted(job("resnet50-p4d", *options)) is None


@pytest.mark.parametrize(
    "options",
    [("--recipe", "reference"), ("--batch-size", "1"), ("--architecture", "small"), ("--short-side", "600")],
)
def test_an_option_of_mask_rcnn_that_the_plan_does_not_know(options: tuple[str, ...]) -> None:
    assert predicted(job("mask-rcnn-p4d", *options)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"gpus_per_worker": 4},
        {"environment": {"TF_XLA_FLAGS": "--tf_xla_max_cluster_size=1000000"}},
        {"environment": {"NCCL_ALGO": "Ring"}},
        {"environment": {"HOROVOD_CYCLE_TIME": "5"}},
        # No rate is published for its GPU.
        {"instance_type": "p5en.48xlarge"},
        {"instance_type": "g5.48xlarge"},
        # A step would have more images than an epoch.
        {"workers": 700},
        {"efa_interfaces": 1},
        {"command": ("python", "-m", "my.training", "--data-dir", "/fsx/data", "--batch-size", "256")},
        {"command": ("sh", "-c", "python -m training.resnet50 --data-dir /fsx/data --batch-size 256")},
    ],
)
def test_a_job_that_the_plan_does_not_know(changes: dict[str, Any]) -> None:
    assert predicted(job("resnet50-p4d", **changes)) is None


def test_the_ceiling_of_another_framework_is_no_prediction() -> None:
    assert predicted(job("resnet50-p5", "--batch-size", "408")) is None


def test_without_efa_it_is_slower() -> None:
    assert predicted(job("resnet50-p4d", efa_interfaces=0))["images_per_second"] < 33_861


def test_images_of_another_file_system_are_not_in_the_plan() -> None:
    lustre, efs = SharedVolume(claim=LUSTRE_CLAIM, mount_path="/lustre"), SharedVolume(claim=EFS_CLAIM)
    assert predicted(job("resnet50-p4d", volumes=(efs, lustre))) is None
    moved = job("resnet50-p4d", "--data-dir", "/lustre/data", volumes=(efs, lustre))
    assert predicted(moved)["images_per_second"] == 33_861


def test_the_manifest_has_it_and_no_other_object_has(tmp_path: Path) -> None:
    (path,), _ = render_jobs([job()], tmp_path)
    documents = list(yaml.safe_load_all(path.read_text()))
    found = {each["kind"]: each["metadata"].get("annotations") for each in documents}
    assert found == {"MPIJob": {KEY: '{"gpus": 16, "images_per_second": 33861}'}, "NetworkPolicy": None}


def test_a_manifest_without_a_prediction_has_no_annotation(tmp_path: Path) -> None:
    (path,), _ = render_jobs([recipe("digits", image="image:1")], tmp_path)
    assert KEY not in path.read_text()


def test_the_programs_have_the_defaults_that_are_assumed() -> None:
    classifier = (ROOT / "training/imagenet/classifier_settings.py").read_text()
    assert 'changed(RunSettings, "batch_size", default=256)' in classifier
    assert 'image_size: int = option(whole_number(32), "pixels of each side", default=224,' in classifier
    assert 'classes: int = option(whole_number(2), "labels are 1 to this", default=1000,' in classifier
    resnet50 = (ROOT / "training/resnet50/__main__.py").read_text()
    assert 'STRATEGIES = ("horovod", ' in resnet50
    assert "default=STRATEGIES[0]" in resnet50
    mask_rcnn = (ROOT / "training/mask_rcnn/__main__.py").read_text()
    assert 'SIDES = {"resnet50-fpn": (800, 1333),' in mask_rcnn
    assert 'default="reference",' in mask_rcnn
    recipes = (ROOT / "training/mask_rcnn/recipe.py").read_text()
    assert 'Recipe(name="reference", batch_size=1,' in recipes
    assert 'Recipe(name="throughput", batch_size=4,' in recipes
