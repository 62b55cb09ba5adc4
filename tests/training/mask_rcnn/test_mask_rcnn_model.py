import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.training.mask_rcnn.made_batch import TINY, made_batch
from training.mask_rcnn.__main__ import GRADIENTS
from training.mask_rcnn.architecture import RESNET50_FPN
from training.mask_rcnn.model import build, network_of, of_images
from training.resnet50 import model as resnet50
from training.runtime.network import make_network


def count(weights: list[tf.Variable]) -> int:
    return sum(math.prod(weight.shape) for weight in weights)


@pytest.fixture(scope="module")
def large() -> tf.keras.Model:
    return build(RESNET50_FPN)


def test_has_the_parameters_of_mask_r_cnn(large: tf.keras.Model) -> None:
    channels, classes = 256, 80
    convolution = 9 * channels * channels + channels
    normalization = 2 * 26_560
    # Without the last layer, and without batch normalization's scale and shift.
    convolutions_of_resnet50 = 23_508_032 - normalization
    pyramid = sum(stage * channels + channels for stage in (256, 512, 1024, 2048)) + 4 * convolution
    proposer = convolution + (channels + 1) * 3 + (channels + 1) * 4 * 3
    hidden = (7 * 7 * channels + 1) * 1024 + (1024 + 1) * 1024
    outputs = (1024 + 1) * (classes + 1) + (1024 + 1) * 4 * classes
    masks = 4 * convolution + (4 * channels * channels + channels) + (channels + 1) * classes
    weights = convolutions_of_resnet50 + pyramid + proposer + hidden + outputs + masks
    assert count(large.weights) == weights + normalization + 2 * 26_560 == 44_449_456

    # torchvision's `maskrcnn_resnet50_fpn` has 44,401,393. Its batch normalization is frozen, and no parameter; it has
    # 91 classes, 80 of them in use, with the background; and boxes and masks of the background, too.
    outputs_of_torchvision = (1024 + 1) * 91 + (1024 + 1) * 4 * 91 + (channels + 1) * 91
    own_outputs = outputs + (channels + 1) * classes
    assert weights - own_outputs + outputs_of_torchvision == 44_401_393


def test_only_what_is_not_frozen_learns(large: tf.keras.Model) -> None:
    # The first convolution and the first stage's ten: 7x7x3x64 and three blocks.
    frozen = 7 * 7 * 3 * 64 + 64 * 64 + 64 * 256 + 3 * (9 * 64 * 64 + 64 * 256) + 2 * 256 * 64
    # And scale, shift, mean and variance of all 53 layers of batch normalization.
    assert count(large.non_trainable_weights) == frozen + 4 * 26_560
    # 53 - 11 convolutions without bias; weights and biases of 21 layers.
    assert len(large.trainable_weights) == GRADIENTS == 84
    assert make_network(large, 0.9).statistics == []


@pytest.fixture(scope="module")
def tiny() -> tf.keras.Model:
    return build(TINY)


def test_free_normalization_has_statistics(tiny: tf.keras.Model) -> None:
    network = make_network(tiny, 0.9)
    # A mean and a variance of the first convolution, and of four in each of four blocks.
    assert len(network.statistics) == 2 * (1 + 4 * 4)


def test_images_become_levels_with_a_prediction_for_each_anchor(tiny: tf.keras.Model) -> None:
    batch = made_batch([[1], [2]])
    outputs = of_images(tiny, batch.images, batch.sizes, training=False)
    assert [tuple(level.shape) for level in outputs.pyramid] == [(2, side, side, 8) for side in (16, 8, 4, 2)]
    assert [tuple(level.shape) for level in outputs.logits] == [(2, 3 * side**2) for side in (16, 8, 4, 2, 1)]
    assert [tuple(level.shape) for level in outputs.deltas] == [(2, 3 * side**2, 4) for side in (16, 8, 4, 2, 1)]


def test_what_is_in_the_padding_does_not_matter(tiny: tf.keras.Model) -> None:
    batch = made_batch([[1]], size=(40, 52))
    images = np.array(batch.images)
    plain = of_images(tiny, tf.constant(images), batch.sizes, training=False)
    images[:, 40:], images[:, :, 52:] = 200, 100
    other = of_images(tiny, tf.constant(images), batch.sizes, training=False)
    np.testing.assert_array_equal(plain.pyramid[0], other.pyramid[0])
    images[:, 39] = 200
    changed = of_images(tiny, tf.constant(images), batch.sizes, training=False)
    assert np.abs(changed.pyramid[0] - plain.pyramid[0]).max() > 0


def test_each_level_adds_the_one_above_it_with_each_value_as_2_by_2(tiny: tf.keras.Model) -> None:
    pyramid = tiny.get_layer("pyramid")
    images = np.random.default_rng(0).normal(size=(1, 64, 64, 3)).astype(np.float32)
    names = ["lateral4", "lateral5", "output4"]
    outputs = tf.keras.Model(pyramid.input, [pyramid.get_layer(name).output for name in names])(images)
    lateral4, lateral5, output4 = outputs
    merged = lateral4 + np.repeat(np.repeat(lateral5, 2, 1), 2, 2)
    np.testing.assert_allclose(pyramid.get_layer("output4")(merged), output4, atol=1e-5)


def test_layers_of_one_shape_begin_with_different_weights() -> None:
    model = build(dataclasses.replace(TINY, mask_convolutions=3))
    weights = [weight for weight in model.weights if len(weight.shape) > 1]
    for place, one in enumerate(weights):
        for other in weights[place + 1 :]:
            assert one.shape != other.shape or np.abs(one - other).max() > 0


def test_a_saved_model_is_the_same_network(tiny: tf.keras.Model, tmp_path: Path) -> None:
    batch = made_batch([[1]])
    tiny.save(tmp_path / "model.keras", save_format="keras")
    loaded = tf.keras.models.load_model(tmp_path / "model.keras", compile=False)
    one, other = (of_images(each, batch.images, batch.sizes, training=False) for each in (tiny, loaded))
    for ours, theirs in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_backbone_takes_the_weights_of_a_trained_classifier(tmp_path: Path) -> None:
    trained = resnet50.network(64, 10, TINY.blocks, TINY.width)
    trained.save(tmp_path / "model.keras", save_format="keras")
    model = network_of(TINY, "float32", tmp_path / "model.keras").model
    images = np.random.default_rng(0).normal(size=(1, 64, 64, 3)).astype(np.float32)
    last = [layer for layer in trained.layers if isinstance(layer, tf.keras.layers.ReLU)][-1]
    expected = tf.keras.Model(trained.input, last.output)(images, training=False)
    *_, output = model.get_layer("pyramid").get_layer("backbone")(images, training=False)
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)
    assert np.abs(expected).max() > 0.01
