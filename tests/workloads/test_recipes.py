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


def test_a_job_with_another_name_writes_into_another_folder() -> None:
    assert recipe("digits-p3", "mine").command[-1] == "/fsx/runs/mine"


def test_some_fields_are_others_than_the_recipes() -> None:
    job = recipe("digits-p4d", workers=4, image="repo/image:2")
    assert (job.workers, job.image, job.instance_type) == (4, "repo/image:2", "p4d.24xlarge")


def test_an_unknown_recipe() -> None:
    with pytest.raises(InputError) as caught:
        recipe("digits-p6")
    assert str(caught.value) == (
        "'recipe' is 'digits-p6', which is not known; did you mean digits-p5 or digits-p3 or digits-p4d? known: "
        "digits-p3, digits-p4d, digits-p5, digits-spot, nccl-p3, nccl-p4d, nccl-p5, stage-data, tensorboard"
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
        "'workers' does not go with tensorboard; it goes with digits-p3, digits-p4d, digits-p5, digits-spot",
    )
