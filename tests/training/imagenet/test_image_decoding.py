from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from tests.training.imagenet_data import jpeg
from training.imagenet.image_decoding import decode, evaluation_window, to_float, training_window
from training.records.pipeline import epoch_key, mirrored


def number(value: int) -> tf.Tensor:
    return tf.constant(value, tf.int64)


def window(height: int, width: int, record: int, key: int, min_crop_area: float = 0.08) -> list[int]:
    """Return the window of a training image: top, left, height, width."""
    found = training_window(tf.constant([height, width, 3]), number(record), key, min_crop_area)
    return [int(each) for each in found.numpy()]


def training_image(content: bytes, record: int, key: int, size: int) -> NDArray[Any]:
    image = decode(tf.constant(content), lambda shape: training_window(shape, number(record), key), size)
    assert (image.dtype, image.shape) == (tf.uint8, (size, size, 3))
    return np.asarray(image)


@pytest.mark.parametrize(("height", "width"), [(40, 50), (97, 31), (8, 8)])
def test_crops_are_within_the_image_and_the_ranges(height: int, width: int) -> None:
    crops = [window(height, width, record, 5) for record in range(200)]
    for top, left, tall, wide in crops:
        assert 0 <= top <= top + tall <= height
        assert 0 <= left <= left + wide <= width
    shares = np.array([tall * wide / (height * width) for _, _, tall, wide in crops])
    # Sides are whole pixels: crops of a small image can be slightly outside the range.
    assert shares.min() > 0.05
    # Crops reach the lower end: TensorFlow's default would reject those below 0.1.
    assert shares.min() < 0.12
    assert len({tuple(crop) for crop in crops}) > 50


@pytest.mark.parametrize("least", [0.5, 1])
def test_crops_have_the_minimum_area(least: float) -> None:
    crops = [window(400, 500, record, 5, least) for record in range(200)]
    shares = np.array([tall * wide / (400 * 500) for _, _, tall, wide in crops])
    assert least - 0.01 < shares.min() < least + 0.05


def test_a_crop_depends_only_on_the_key_and_the_record() -> None:
    assert window(40, 50, 3, 7) == window(40, 50, 3, 7)
    assert window(40, 50, 3, 7) != window(40, 50, 4, 7)
    assert window(40, 50, 3, 7) != window(40, 50, 3, 8)


def test_keys_differ_by_seed_and_epoch() -> None:
    keys = [epoch_key(seed, epoch) for seed in range(10) for epoch in range(10)]
    assert len(set(keys)) == 100
    assert all(0 <= key < 2**63 for key in keys)


def test_mirrors_half_of_the_images_and_others_in_each_epoch() -> None:
    first, second = mirrored(10_000, 0, 0), mirrored(10_000, 0, 1)
    assert 0.48 < first.mean() < 0.52
    assert 0.48 < (first == second).mean() < 0.52
    assert (first == mirrored(10_000, 0, 0)).all()


@pytest.mark.parametrize("size", [7, 32, 64])
def test_an_image_equals_the_rounded_float_image(size: int) -> None:
    # Full colour resolution: otherwise the decoder interpolates colours across the edge of the crop.
    pixels = np.random.default_rng(1).integers(256, size=(48, 64, 3), dtype=np.uint8)
    content = tf.io.encode_jpeg(pixels, chroma_downsampling=False).numpy()
    for record in range(20):
        top, left, height, width = window(48, 64, record, 1)
        whole = tf.io.decode_jpeg(content, channels=3)
        expected = tf.image.resize(whole[top : top + height, left : left + width], (size, size)).numpy()
        image = training_image(content, record, 1, size)
        assert np.abs(image.astype(np.float32) - expected).max() < 0.501


@pytest.mark.parametrize("size", [32, 64])
def test_an_image_with_subsampled_colours_differs_only_at_the_edge(size: int) -> None:
    pixels = tf.image.resize(np.random.default_rng(1).integers(256, size=(6, 8, 3)), (96, 128), method="bicubic")
    content = tf.io.encode_jpeg(tf.saturate_cast(pixels, tf.uint8), quality=92).numpy()
    for record in range(20):
        top, left, height, width = window(96, 128, record, 1)
        whole = tf.io.decode_jpeg(content, channels=3)
        expected = tf.image.resize(whole[top : top + height, left : left + width], (size, size)).numpy()
        difference = np.abs(training_image(content, record, 1, size) - expected)
        assert difference[6:-6, 6:-6].max() <= 1
        assert difference.mean() < 0.5


def test_evaluates_the_centre_of_an_image() -> None:
    pixels = np.zeros((64, 96, 3), np.uint8)
    # 7/8 of the short side: 56 x 56, from row 4 and column 20.
    pixels[4:60, 20:76] = 200
    content = tf.io.encode_jpeg(pixels, quality=100, chroma_downsampling=False)
    for size in (32, 56, 112):
        image = decode(content, evaluation_window, size).numpy()
        assert image.shape == (size, size, 3)
        # JPEG's artefacts at the edge are below 20; a dark row around it would be far from 200.
        assert (np.abs(image.astype(int) - 200) < 20).all()


@pytest.mark.parametrize(("height", "width", "channels"), [(1, 1, 3), (3, 200, 3), (20, 20, 1)])
def test_accepts_small_narrow_and_grey_images(height: int, width: int, channels: int) -> None:
    content = jpeg(2, height, width, channels)
    assert training_image(content, 0, 0, 16).shape == (16, 16, 3)
    assert decode(content, evaluation_window, 16).shape == (16, 16, 3)


def test_mirrors_and_normalizes_a_batch() -> None:
    images = np.zeros((2, 1, 2, 3), np.uint8)
    images[:, :, 1] = 255
    result = to_float(tf.constant(images), tf.constant([False, True]), tf.float32).numpy()
    dark, bright = (-2.117996, -2.035714, -1.804444), (2.248813, 2.428571, 2.64)
    np.testing.assert_allclose(result[0, 0], [dark, bright], atol=2e-4)
    np.testing.assert_allclose(result[1, 0], [bright, dark], atol=2e-4)
    assert to_float(tf.constant(images), None, tf.float16).dtype == tf.float16
    np.testing.assert_array_equal(to_float(tf.constant(images), None, tf.float32)[1], result[0])
