import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.mpirun import Run

pytestmark = pytest.mark.whole_run


@pytest.fixture(scope="module")
def probe(launch: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    output = tmp_path_factory.mktemp("probe")
    run = launch(2, "-m", "tests.training.resnet50.resnet50_probe", output, output=output)
    assert run.code == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def answers(probe: Run) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(probe.stdout.splitlines()[-1])
    return content


def test_two_ranks_learn_what_one_rank_learns_from_one_big_batch(answers: dict[str, Any]) -> None:
    assert answers["moved"] > 1e-2
    assert answers["distance"] < 1e-6


def test_fp16_compression_changes_gradients_only_by_rounding(answers: dict[str, Any]) -> None:
    assert 0 < answers["distance with fp16"] < 1e-3


def test_infinity_on_one_rank_halves_the_loss_scale_on_both_and_changes_no_weight(answers: dict[str, Any]) -> None:
    assert answers["scale before"] == [32768, 32768]
    assert answers["changed by infinity"] == [False, False]
    assert answers["scale after"] == [16384, 16384]
    assert answers["state kept"] == [True, True]
    assert answers["changed afterwards"] == [True, True]


def test_a_bad_step_is_not_in_the_loss_of_its_epoch(answers: dict[str, Any], probe: Run) -> None:
    losses = [float(loss) for of_rank in answers["losses around a bad step"] for loss in of_rank]
    finite = [loss for loss in losses if math.isfinite(loss)]
    assert (len(losses), len(finite)) == (6, 5)
    results = json.loads((probe.output / "bad-step/results.json").read_text(), parse_constant=pytest.fail)
    (point,) = results["history"]
    assert point["loss"] == {"training": pytest.approx(sum(finite) / 5, abs=1e-6)}


def test_each_rank_resumes_with_its_own_statistics(answers: dict[str, Any]) -> None:
    assert answers["statistics"][0] != answers["statistics"][1]
    assert answers["saved"] == [True, True]
    assert answers["resumed at"] == [3, 3]
    assert answers["statistics again"] == answers["statistics"]
    assert answers["scale again"] == [16384, 16384]


def test_average_is_the_same_on_every_rank(answers: dict[str, Any]) -> None:
    first, second = answers["averaged"]
    assert first == second
    assert first == pytest.approx([(a + b) / 2 for a, b in zip(*answers["statistics"], strict=True)])


def test_a_failed_save_prints_a_warning_and_ends_nothing(answers: dict[str, Any], probe: Run) -> None:
    assert answers["not saved"] == [False, True]
    folder = Path(probe.output) / "blocked" / "checkpoints"
    warning = f"the checkpoint of step 4 could not be written to {folder} (Not a directory); the run continues"
    assert probe.stderr.count(f"warning: {warning}, and earlier checkpoints are kept") == 1


def test_an_error_on_any_rank_reaches_every_rank(answers: dict[str, Any]) -> None:
    assert answers["heard"] == ["seen by rank 1"] * 2
    assert answers["values"] == [0, 1]
