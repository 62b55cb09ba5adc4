from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import pytest
import tensorflow as tf

from training.resnet50 import train_step

# Keras 2.15 itself, once a seed is set.
pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange")


def options(**changes: object) -> train_step.StepOptions:
    given = {"classes": 10, "label_smoothing": 0.1, "weight_decay": 0.1, "lars": False, "groups": 0}
    return train_step.StepOptions(**{**given, "compression": hvd.Compression.none, **changes})


def regularized(name: str, weight: object, gradient: object, **changes: object) -> Any:
    variable = tf.Variable(weight, name=name, dtype=tf.float32)
    return train_step._regularized(tf.constant(gradient, tf.float32), variable, options(**changes)).numpy().tolist()


def test_kernels_and_the_last_bias_decay_and_batch_normalization_does_not() -> None:
    assert regularized("conv2d/kernel", [[1.0, 2.0]], [[0.5, 0.5]])[0] == pytest.approx([0.6, 0.7])
    assert regularized("dense/bias", [1.0, 2.0], [0.5, 0.5]) == pytest.approx([0.6, 0.7])
    assert regularized("batch_normalization/gamma", [1.0, 2.0], [0.5, 0.5]) == [0.5, 0.5]


def test_lars_makes_a_step_as_long_as_the_layer_s_weights_allow() -> None:
    # Weights of length 5, a gradient of length 1: 0.001 x 5 / (1 + 0.1 x 5).
    trust = 0.001 * 5 / 1.5
    stepped = regularized("conv2d/kernel", [[3.0, 4.0]], [[0.6, 0.8]], lars=True)
    assert stepped[0] == pytest.approx([trust * 0.9, trust * 1.2])
    # Neither decay nor trust for what has one dimension.
    assert regularized("dense/bias", [1.0, 2.0], [0.5, 0.5], lars=True) == [0.5, 0.5]
    # Nothing to compare with: the gradient as it is, decayed.
    assert regularized("conv2d/kernel", [[0.0, 0.0]], [[0.6, 0.8]], lars=True)[0] == pytest.approx([0.6, 0.8])


def test_loss_is_that_of_smoothed_labels() -> None:
    # A tenth is spread over ten classes: 0.91 for the right one, 0.01 for each other.
    logits = np.log(np.array([[0.55] + [0.05] * 9], np.float32))
    expected = -(0.91 * np.log(0.55) + 0.09 * np.log(0.05))
    assert float(train_step.smoothed_loss(tf.constant(logits), tf.constant([0]), options())) == pytest.approx(expected)


def test_in_float32_the_scale_is_one_and_stays_there() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    network = train_step.make_network(model, momentum=0.9)
    assert float(network.optimizer.loss_scale) == 1.0
    names = [variable.name for variable in network.variables]
    assert {"current_loss_scale:0", "good_steps:0", "iteration:0", "learning_rate:0"} <= set(names)
    assert sum("m/dense" in name for name in names) == 2
