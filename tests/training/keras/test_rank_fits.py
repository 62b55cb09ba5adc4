"""A `fit` of several ranks, which is killed and stopped, with the same ranks and with others."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.training.mpirun import Run

pytestmark = pytest.mark.whole_run

SCRIPT = ("-m", "tests.training.keras.recorded_fit")


def _samples(output: Path) -> list[int]:
    return [int(number) for file in output.glob("samples-*") for number in file.read_text().split()]


def test_two_ranks_that_are_killed_end_as_two_undisturbed_ones(launch: Callable[..., Run], tmp_path: Path) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    for output in (undisturbed, killed):
        output.mkdir()
    assert launch(2, *SCRIPT, undisturbed, "0", output=undisturbed).code == 0
    assert launch(2, *SCRIPT, killed, "7", "kill", output=killed).code != 0
    last = launch(2, *SCRIPT, killed, "0", output=killed)
    assert last.code == 0, last.stderr
    assert "resuming after step 4, 32 samples into epoch 1: written by 2 ranks, now 2" in last.stdout
    with np.load(undisturbed / "weights.npz") as one, np.load(killed / "weights.npz") as two:
        for name in one.files:
            np.testing.assert_array_equal(one[name], two[name])


def test_two_then_three_then_two_ranks_train_each_sample_once(launch: Callable[..., Run], tmp_path: Path) -> None:
    # They stop where they save: after 4 steps of 8 samples, after 4 of 12, and then 5 of 8 are left.
    assert launch(2, *SCRIPT, tmp_path, "2", "stop", output=tmp_path).code == 75
    assert launch(3, *SCRIPT, tmp_path, "2", "stop", output=tmp_path).code == 75
    last = launch(2, *SCRIPT, tmp_path, "0", output=tmp_path)
    assert last.code == 0, last.stderr
    counts = Counter(_samples(tmp_path))
    assert set(counts.values()) == {1}
    assert len(counts) == 120


def test_two_ranks_of_a_strategy_that_are_killed_end_as_undisturbed_ones(
    launch: Callable[..., Run], tmp_path: Path
) -> None:
    undisturbed, killed, script = tmp_path / "undisturbed", tmp_path / "killed", "tests.training.keras.strategy_fit"
    for output, steps in ((undisturbed, "0"), (killed, "8"), (killed, "0")):
        output.mkdir(exist_ok=True)
        last = launch(2, "-m", script, output, steps, output=output)
        assert (last.code == 0) == (steps == "0"), last.stderr
    assert "samples into epoch 1: written by 2 ranks, now 2" in last.stdout
    for rank in range(2):
        with np.load(undisturbed / f"weights-{rank}.npz") as one, np.load(killed / f"weights-{rank}.npz") as two:
            for name in one.files:
                np.testing.assert_array_equal(one[name], two[name])
