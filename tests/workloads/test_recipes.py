from typing import Any

import cdk8s
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.schemas import check_manifest
from training_workloads import HorovodJob, InputError
from training_workloads.recipes import RECIPES, recipe


def manifests(name: str) -> list[dict[str, Any]]:
    chart = cdk8s.Testing.chart()
    HorovodJob(chart, "Job", spec=recipe(name))
    return list(cdk8s.Testing.synth(chart))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_a_valid_job(name: str) -> None:
    kinds = []
    for document in manifests(name):
        check_manifest(document)
        kinds.append(document["kind"])
    assert kinds == ["MPIJob", "NetworkPolicy"]


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_as_reviewed(name: str, snapshot: SnapshotAssertion) -> None:
    assert manifests(name) == snapshot


def test_a_job_with_another_name_writes_into_another_folder() -> None:
    assert recipe("digits-p3", "mine").command[-1] == "/fsx/runs/mine"


def test_an_unknown_recipe() -> None:
    with pytest.raises(InputError) as caught:
        recipe("digits-p5")
    assert str(caught.value) == (
        "'recipe' is 'digits-p5', which is not known; "
        "did you mean digits-p3 or digits-p4d? known: digits-p3, digits-p4d"
    )
