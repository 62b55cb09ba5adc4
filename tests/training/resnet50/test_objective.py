from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from training.imagenet.classification import check_first_loss
from training.resnet50.__main__ import Objective
from training.runtime.errors import UserError


def objective(lars: bool = False) -> Objective:
    return Objective(classes=10, label_smoothing=0.1, weight_decay=0.1, lars=lars)


def decayed(name: str, weight: object, gradient: object, lars: bool = False) -> Any:
    variable = tf.Variable(weight, name=name, dtype=tf.float32)
    return objective(lars).decay(tf.constant(gradient, tf.float32), variable).numpy().tolist()


def test_kernels_and_the_last_bias_decay_and_batch_normalization_does_not() -> None:
    assert decayed("conv2d/kernel", [[1.0, 2.0]], [[0.5, 0.5]])[0] == pytest.approx([0.6, 0.7])
    assert decayed("dense/bias", [1.0, 2.0], [0.5, 0.5]) == pytest.approx([0.6, 0.7])
    assert decayed("batch_normalization/gamma", [1.0, 2.0], [0.5, 0.5]) == [0.5, 0.5]


def test_lars_makes_a_step_as_long_as_the_layer_s_weights_allow() -> None:
    # Weights of length 5, a gradient of length 1: 0.001 x 5 / (1 + 0.1 x 5).
    trust = 0.001 * 5 / 1.5
    stepped = decayed("conv2d/kernel", [[3.0, 4.0]], [[0.6, 0.8]], lars=True)
    assert stepped[0] == pytest.approx([trust * 0.9, trust * 1.2])
    # Neither decay nor trust for what has one dimension.
    assert decayed("dense/bias", [1.0, 2.0], [0.5, 0.5], lars=True) == [0.5, 0.5]
    # Nothing to compare with: the gradient as it is, decayed.
    assert decayed("conv2d/kernel", [[0.0, 0.0]], [[0.6, 0.8]], lars=True)[0] == pytest.approx([0.6, 0.8])


def test_loss_is_that_of_smoothed_labels() -> None:
    # A tenth is spread over ten classes: 0.91 for the right one, 0.01 for each other.
    logits = np.log(np.array([[0.55] + [0.05] * 9], np.float32))
    expected = -(0.91 * np.log(0.55) + 0.09 * np.log(0.05))
    assert float(objective().smoothed_loss(tf.constant(logits), tf.constant([0]))) == pytest.approx(expected)


@pytest.mark.parametrize("loss", [1.2, 3.4, float("nan"), float("inf")])
def test_rejects_a_first_loss_that_is_not_that_of_an_untrained_network(loss: float) -> None:
    check_first_loss(2.4, 10)
    with pytest.raises(UserError) as caught:
        check_first_loss(loss, 10)
    assert str(caught.value) == (
        f"the first loss is {loss:.2f}, but that of 10 classes is about 2.30 before anything is learned; check the "
        "images, the labels and '--classes'"
    )
