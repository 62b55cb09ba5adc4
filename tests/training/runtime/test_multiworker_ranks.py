"""What ranks without Horovod give each other: two processes under mpirun, and one alone."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.mpirun import Run, free_ports
from training.runtime import mpirun_environment, multiworker_ranks, ranks
from training.runtime.tensorflow_ranks import TensorFlowRanks


@pytest.fixture(scope="module")
def answers(launch: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAINING_PORT", str(free_ports(2)))
        output = tmp_path_factory.mktemp("probe")
        run = launch(2, "-m", "tests.training.runtime.multiworker_probe", output=output)
        assert run.code == 0, run.stderr
        yield json.loads(run.stdout.splitlines()[-1])


@pytest.mark.whole_run
def test_objects_of_other_sizes_reach_every_rank(answers: dict[str, Any]) -> None:
    assert answers["gathered"] == [{"rank": 0, "text": ""}, {"rank": 1, "text": "é" * 1000}]
    assert answers["broadcast"] == [["only", 0], ["only", 0]]
    assert answers["rows"] == [[[0, 7], [1, 7]], "int64"]
    assert answers["average"] == [1, 2.5]


@pytest.mark.whole_run
def test_every_rank_gets_the_variables_of_rank_zero(answers: dict[str, Any]) -> None:
    assert answers["copied"] == [[[1.5, 2], 5]] * 2


@pytest.mark.whole_run
def test_an_error_on_any_rank_reaches_every_rank(answers: dict[str, Any]) -> None:
    assert answers["heard"] == ["seen by rank 1"] * 2
    assert answers["of rank zero"] == [2, 2]


@pytest.mark.whole_run
def test_gradients_are_the_mean_over_the_ranks(answers: dict[str, Any]) -> None:
    exact = [str(float(each)) for each in np.array([1.5, 0.1, 2.5], np.float32)]
    assert answers["gradients in 0 groups"] == [exact] * 2
    assert answers["gradients in 1 groups"] == [exact] * 2
    assert answers["gradients with infinity"] == [["inf", "2.0", "3.0"]] * 2


@pytest.mark.whole_run
def test_gradients_in_float16_are_divided_before_they_are_added(answers: dict[str, Any]) -> None:
    for of_rank in answers["gradients in float16"]:
        # float16 keeps three digits.
        assert [float(each) for each in of_rank] == pytest.approx([60000, 0.1, 60000], rel=1e-3)


def test_a_rank_alone_connects_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ranks, "_current", ranks.Ranks())
    monkeypatch.delenv("TF_CONFIG", raising=False)
    multiworker_ranks.init()
    alone = ranks.current()
    assert isinstance(alone, TensorFlowRanks)
    alone.connect()
    vector, variable = np.array([1, 2], np.float32), tf.Variable(3.0)
    alone.copy_variables([variable])
    assert (alone.gather("x", "n"), alone.broadcast("x", "n"), float(variable)) == (["x"], "x", 3.0)
    assert (alone.average(vector, "n").tolist(), alone.rows(vector, "n").tolist()) == ([1, 2], [[1, 2]])
    with tf.GradientTape() as tape:
        loss = 2 * variable
    (gradient,) = alone.mean_gradients(tape, loss, [variable], compression="fp16", groups=1)
    assert float(gradient) == 2.0
    assert mpirun_environment.find({}).size == 1
