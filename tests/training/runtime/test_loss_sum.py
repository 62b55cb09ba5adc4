import json
import math

import pytest

from training.runtime.loss_sum import LossSum


def test_means_count_each_step_with_its_weight() -> None:
    losses = LossSum()
    losses.add({"box": 1.0, "class": 4.0}, 1.0)
    losses.add({"box": 4.0, "class": 1.0}, 0.5)
    assert losses.means == {"box": 2.0, "class": 3.0}
    assert losses.weight == 1.5


def test_sums_of_two_ranks_are_added() -> None:
    first, second = LossSum(), LossSum()
    first.add({"training": 1.0}, 1.0)
    second.add({"training": 3.0}, 3.0)
    total = LossSum()
    total.extend(first.names, first.vector + second.vector)
    assert total.means == {"training": 2.5}


def test_without_a_step_there_is_no_mean() -> None:
    losses = LossSum()
    assert (losses.weight, losses.means) == (0, {})
    losses.add({"training": 0.0}, 0.0)
    assert math.isnan(losses.means["training"])
    losses.extend([], LossSum().vector)
    losses.add({"training": 2.0}, 1.0)
    assert losses.means == {"training": pytest.approx(2.0)}


def test_sums_survive_json() -> None:
    losses = LossSum()
    losses.add({"box": 0.1, "class": 0.2}, 1.0)
    again = LossSum(json.loads(json.dumps(losses.to_json())))
    again.add({"box": 0.3, "class": 0.6}, 1.0)
    assert again.means == pytest.approx({"box": 0.2, "class": 0.4})
    assert LossSum(LossSum().to_json()).vector.tolist() == [0.0]
