"""The loop, on two ranks with a task of several losses, a frozen layer and batches of two shapes."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.training.mpirun import Run

pytestmark = pytest.mark.whole_run


@pytest.fixture(scope="module")
def probe(launch: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    output = tmp_path_factory.mktemp("loop")
    run = launch(2, "-m", "tests.training.runtime.loop_probe", output, output=output)
    assert run.code == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def answers(probe: Run) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(probe.stdout.splitlines()[-1])
    return content


def test_saves_every_so_many_steps_or_epochs_and_at_the_end(answers: dict[str, Any]) -> None:
    # Two epochs of 12 steps.
    assert answers["steps saved"] == [5, 10, 15, 20, 24]
    assert answers["epochs saved"] == [24]


def test_evaluates_every_so_many_steps_or_epochs_and_at_the_end(answers: dict[str, Any]) -> None:
    # The end of an epoch has its loss in any case, and the evaluation that is due after its last step.
    assert answers["history by steps"] == [
        [0.3333, ["box"]],
        [0.6667, ["box"]],
        [1, ["box"]],
        [1.3333, ["box"]],
        [1.6667, ["box"]],
        [2, ["box"]],
    ]
    assert answers["history by epochs"] == [[1, []], [2, ["box"]]]


def test_evaluations_change_nothing_that_is_learned(answers: dict[str, Any]) -> None:
    assert answers["evaluations change nothing"] is True


def test_minutes_are_those_of_rank_zero_and_all_ranks_save_after_the_same_step(answers: dict[str, Any]) -> None:
    # Half a minute a step, asked after each second one: a save every four steps.
    assert answers["minutes saved"] == [[4, 8, 12, 16, 20, 24]] * 2
    assert answers["history by minutes"] == [0.5, 1, 1.5, 2]


def test_a_save_that_failed_is_tried_again_after_a_minute(answers: dict[str, Any], probe: Run) -> None:
    assert answers["steps saved after a failure"] == [8, 10, 15, 20, 24]
    assert "warning: the checkpoint of step 5 could not be written" in probe.stderr


def test_a_start_without_a_step_keeps_the_speed_of_the_one_before(answers: dict[str, Any]) -> None:
    assert answers["speed of the last start"] == [True, True, True, True, 7]


def test_a_start_without_a_step_of_the_first_epoch_has_no_speed_yet(answers: dict[str, Any]) -> None:
    assert answers["steps after the first epoch"] == [24, True]


def test_warns_where_nothing_is_saved_or_tested_before_the_end(probe: Run) -> None:
    warnings = [line for line in probe.stdout.splitlines() if line.startswith("warning: '--")]
    assert warnings == [
        "warning: '--checkpoint-every' is 25steps, but the run has 2 epochs of 12 steps, so it is saved only at its "
        "end: if it is killed, all is lost; give a shorter one",
        "warning: '--evaluate-every' is 3epochs, but the run has 2 epochs of 12 steps, so it is tested only at its "
        "end; give a shorter one",
    ]


def test_the_line_of_a_run_that_warms_up_says_so(probe: Run) -> None:
    (line,) = [line for line in probe.stdout.splitlines() if line.startswith("epoch 2/2: ")][:1]
    assert " images/s with compilation and warm-up (" in line


def test_several_losses_are_in_the_history_with_their_sum(answers: dict[str, Any], probe: Run) -> None:
    assert answers["losses"] == ["box", "class", "training"]
    total = answers["total"]
    assert total["training"] == pytest.approx(total["box"] + total["class"], abs=2e-6)
    first = next(line for line in probe.stdout.splitlines() if line.startswith("epoch 1/2, step 1: "))
    assert first.startswith("epoch 1/2, step 1: loss ")
    assert " (box " in first
    assert ", class " in first


def test_a_stop_request_saves_the_exact_position_on_all_ranks(answers: dict[str, Any]) -> None:
    assert answers["ended"] == ["stopped", "stopped"]
    # The tenth step is the next exchange.
    assert answers["stopped saved"] == [10]


def test_gradients_are_clipped_by_their_length_over_all_weights(answers: dict[str, Any]) -> None:
    free, far, near = answers["lengths"]
    assert free == pytest.approx(far, rel=1e-6)
    assert free > 0.01
    assert near == pytest.approx(1e-3, rel=1e-3)
