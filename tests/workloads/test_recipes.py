from typing import Any

import cdk8s
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.schemas import check_mpi_job
from training_workloads import HorovodJob, InputError
from training_workloads.recipes import RECIPES, recipe


def manifest(name: str) -> dict[str, Any]:
    chart = cdk8s.Testing.chart()
    HorovodJob(chart, "Job", spec=recipe(name))
    (document,) = cdk8s.Testing.synth(chart)
    return dict(document)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_a_valid_job(name: str) -> None:
    check_mpi_job(manifest(name))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_as_reviewed(name: str, snapshot: SnapshotAssertion) -> None:
    assert manifest(name) == snapshot


def test_a_job_with_another_name_writes_into_another_folder() -> None:
    assert recipe("digits-p3", "mine").command[-1] == "/fsx/runs/mine"


def test_an_unknown_recipe() -> None:
    with pytest.raises(InputError) as caught:
        recipe("digits-p5")
    assert str(caught.value) == (
        "'recipe' is 'digits-p5', which is not known; "
        "did you mean digits-p3 or digits-p4d? known: digits-p3, digits-p4d"
    )
