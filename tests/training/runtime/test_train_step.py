from typing import Any

import horovod.tensorflow as hvd
import pytest
import tensorflow as tf

from training.runtime import elastic, ranks
from training.runtime.horovod_ranks import HorovodRanks
from training.runtime.network import make_network
from training.runtime.train_step import make_train_step


@pytest.fixture
def of_horovod(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the options that Horovod's tape gets; there are four ranks."""
    given: dict[str, Any] = {}

    def tape_of(tape: tf.GradientTape, **options: Any) -> tf.GradientTape:
        given.update(options)
        return tape

    monkeypatch.setattr(hvd, "DistributedGradientTape", tape_of)
    monkeypatch.setattr(hvd, "size", lambda: 4)
    monkeypatch.setattr(ranks, "_current", HorovodRanks())
    return given


def take_step(**options: Any) -> None:
    network = make_network(tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))]), momentum=0.9)
    step = make_train_step(network, lambda images: {"loss": tf.reduce_sum(network.model(images))}, **options)
    step(tf.ones((1, 3)))


@pytest.mark.parametrize(
    ("deterministic", "is_elastic", "groups"), [(False, False, 0), (True, False, 1), (True, True, 0)]
)
def test_deterministic_gradients_are_one_group_except_in_an_elastic_run(
    monkeypatch: pytest.MonkeyPatch, of_horovod: dict[str, Any], deterministic: bool, is_elastic: bool, groups: int
) -> None:
    monkeypatch.setattr(elastic, "active", lambda: is_elastic)
    take_step(deterministic=deterministic)
    assert of_horovod["num_groups"] == groups


@pytest.mark.parametrize(("compression", "factor"), [("none", 1), ("fp16", 4)])
def test_gradients_in_float16_are_divided_before_they_are_added(
    of_horovod: dict[str, Any], compression: str, factor: int
) -> None:
    take_step(compression=compression)
    assert of_horovod["gradient_predivide_factor"] == factor
    assert of_horovod["compression"] is (hvd.Compression.fp16 if compression == "fp16" else hvd.Compression.none)
