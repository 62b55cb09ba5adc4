import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.mpirun import Run

pytestmark = pytest.mark.whole_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("probe")


@pytest.fixture(scope="module")
def answers(launch: Callable[..., Run], finished: Run, folder: Path) -> dict[str, Any]:
    run = launch(2, "-m", "tests.training.runtime.probe", finished.output, folder, output=folder)
    assert run.code == 0, run.stderr
    content: dict[str, Any] = json.loads(run.stdout)
    return content


def test_two_ranks_learn_what_one_rank_learns_from_one_big_batch(answers: dict[str, Any]) -> None:
    assert answers["steps"] == 4
    assert answers["moved"] > 1e-3
    assert answers["distance"] < 1e-6


def test_broadcast_makes_weights_and_momentum_equal(answers: dict[str, Any]) -> None:
    assert answers["momentum_before"] > 0
    assert len(set(answers["states_before"])) == 2
    assert set(answers["states_after"]) == {answers["states_before"][0]}


def test_state_read_by_rank_zero_reaches_the_others(answers: dict[str, Any]) -> None:
    assert len(set(answers["states_resumed"])) == 1
    assert answers["states_resumed"] != answers["states_after"]


def test_sharded_accuracy_is_that_of_all_images(answers: dict[str, Any], finished: Run) -> None:
    accuracy = json.loads((finished.output / "results.json").read_text())["accuracy"]
    assert answers["accuracy"] == answers["accuracy_unsharded"] == accuracy


def test_only_rank_zero_writes(answers: dict[str, Any], folder: Path) -> None:
    assert [path.name for path in folder.glob("rank-*")] == ["rank-0"]


def test_an_error_on_rank_zero_reaches_every_rank(answers: dict[str, Any]) -> None:
    assert answers["heard"] == ["seen by rank 0"] * 2


def test_options_other_than_those_of_the_checkpoint_end_every_rank(answers: dict[str, Any], finished: Run) -> None:
    (message,) = set(answers["rejected"])
    assert message.startswith(
        f"'--seed' is 1, but the checkpoints in {finished.output} were written with --seed 0; give"
    )
