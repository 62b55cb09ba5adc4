import math

import numpy as np
import pytest
import tensorflow as tf

from training.resnet50 import model

# Keras 2.15 itself, once a seed is set.
pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange")


@pytest.fixture(scope="module")
def resnet50() -> tf.keras.Model:
    tf.keras.utils.set_random_seed(0)
    return model.build(64, 1000)


def test_has_the_parameters_of_resnet_50(resnet50: tf.keras.Model) -> None:
    assert sum(int(tf.size(weight)) for weight in resnet50.trainable_weights) == 25_557_032
    # Means and variances of the 53 layers of batch normalization.
    assert sum(int(tf.size(weight)) for weight in resnet50.non_trainable_weights) == 53_120


def test_stride_is_in_the_3x3_convolution(resnet50: tf.keras.Model) -> None:
    strided = [
        (layer.kernel_size, layer.filters)
        for layer in resnet50.layers
        if isinstance(layer, tf.keras.layers.Conv2D) and layer.strides == (2, 2)
    ]
    shortcuts = [((1, 1), 512), ((1, 1), 1024), ((1, 1), 2048)]
    assert sorted(strided) == sorted([((7, 7), 64), ((3, 3), 128), ((3, 3), 256), ((3, 3), 512), *shortcuts])


def test_batch_normalization_is_that_of_the_recipe(resnet50: tf.keras.Model) -> None:
    layers = [layer for layer in resnet50.layers if isinstance(layer, tf.keras.layers.BatchNormalization)]
    assert len(layers) == 53
    assert {(layer.momentum, layer.epsilon) for layer in layers} == {(0.9, 1e-5)}


def test_no_class_is_likelier_than_another_before_training(resnet50: tf.keras.Model) -> None:
    images = np.random.default_rng(0).normal(size=(8, 64, 64, 3)).astype(np.float32)
    logits = resnet50(images, training=True)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(np.arange(8), logits)
    assert float(loss) == pytest.approx(math.log(1000), abs=0.6)


def test_rejects_another_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_BLOCKS", (3, 4, 6, 2))
    with pytest.raises(AssertionError, match=r"ResNet-50 with 10 classes has 23,528,522 parameters, but this has 19,"):
        model.build(32, 10)
