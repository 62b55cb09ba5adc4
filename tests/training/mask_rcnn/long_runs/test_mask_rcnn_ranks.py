"""What two ranks train and evaluate is what one trains and evaluates."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.training.mpirun import Run


@pytest.fixture(scope="module")
def answers(launch: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    """Return the answers of one rank and of two."""
    made = {}
    for ranks in (1, 2):
        output = tmp_path_factory.mktemp(f"ranks{ranks}")
        arguments = ["-m", "tests.training.mask_rcnn.mask_rcnn_probe", output / "truth.json", output / "weights.npz"]
        run = launch(ranks, *arguments, output=output)
        assert run.code == 0, run.stderr
        with np.load(output / "weights.npz") as stored:
            weights = [stored[name] for name in stored.files]
        made[ranks] = {**json.loads(run.stdout.splitlines()[-1]), "weights": weights}
    return made


def test_two_ranks_learn_what_one_learns_from_the_same_images(answers: dict[int, Any]) -> None:
    """Only sums of float32 differ in their order: three steps move weights by 0.005 and more, and part them by 1e-6."""
    one, two = answers[1], answers[2]
    assert one["moved"] > 5e-3
    assert two["losses"] == pytest.approx(one["losses"], abs=1e-5)
    distance = max(float(np.abs(a - b).max()) for a, b in zip(one["weights"], two["weights"], strict=True))
    assert distance < 1e-6


def test_two_ranks_measure_what_one_process_measures(answers: dict[int, Any]) -> None:
    one, two = ({name: float(value) for name, value in answers[ranks]["results"].items()} for ranks in (1, 2))
    assert two == pytest.approx(one, abs=1e-6, nan_ok=True)
    assert one["evaluated_images"] == 21
    assert len(one) == 25
    # Neither all right nor all wrong, so that an image that counts twice would show.
    assert 0.05 < one["segm/AP50"] < 0.95
    assert 0.05 < one["bbox/AP75"] < 0.95
    assert answers[2]["same on every rank"]


def test_the_curves_have_the_names_that_people_know(answers: dict[int, Any]) -> None:
    # There are neither small nor large objects.
    names = ("AP", "AP50", "AP75", "APm", "AR1", "AR10", "AR100", "ARm")
    assert answers[2]["curves"] == [f"{kind}/{name}" for kind in ("bbox", "segm") for name in names]


def test_the_first_images_are_kept_for_the_picture(answers: dict[int, Any]) -> None:
    # Images 0, 1 and 2 have as many objects and two false alarms; the second of two ranks has the others.
    assert (answers[1]["seen"], answers[2]["seen"]) == ([2, 3, 4], [2, 4, 2])
