from typing import Any

import horovod.tensorflow as hvd
import pytest
import tensorflow as tf

from training.runtime import elastic, ranks
from training.runtime.horovod_ranks import HorovodRanks
from training.runtime.network import make_network
from training.runtime.train_step import StepOptions, make_train_step


def options(*, compression: str = "none", deterministic: bool = False) -> StepOptions:
    return StepOptions.of_run(
        decay=lambda gradient, _: gradient, compression=compression, deterministic=deterministic, clip_norm=2.0
    )


def test_deterministic_gradients_are_one_group_except_in_an_elastic_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (options().groups, options(deterministic=True).groups) == (0, 1)
    monkeypatch.setattr(elastic, "active", lambda: True)
    assert options(deterministic=True).groups == 0


def test_the_command_line_decides_the_compression() -> None:
    assert options().compression == "none"
    assert options(compression="fp16").compression == "fp16"
    assert options().clip_norm == 2.0


@pytest.mark.parametrize(("compression", "factor"), [("none", 1), ("fp16", 4)])
def test_gradients_in_float16_are_divided_before_they_are_added(
    monkeypatch: pytest.MonkeyPatch, compression: str, factor: int
) -> None:
    given: dict[str, Any] = {}

    def tape_of(tape: tf.GradientTape, **options: Any) -> tf.GradientTape:
        given.update(options)
        return tape

    monkeypatch.setattr(hvd, "DistributedGradientTape", tape_of)
    monkeypatch.setattr(hvd, "size", lambda: 4)
    monkeypatch.setattr(ranks, "_current", HorovodRanks())
    network = make_network(tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))]), momentum=0.9)
    step = make_train_step(
        network, lambda images: {"loss": tf.reduce_sum(network.model(images))}, options(compression=compression)
    )
    step(tf.ones((1, 3)))
    assert given["gradient_predivide_factor"] == factor
    assert given["compression"] is (hvd.Compression.fp16 if compression == "fp16" else hvd.Compression.none)
