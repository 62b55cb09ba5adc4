"""ROI align against its definition, written as plain loops, forwards and backwards, in both formulations."""

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from training.mask_rcnn import roi_align as module
from training.mask_rcnn.roi_align import Grids, aligned, levels, roi_align

SIDE, CHANNELS, POOLING_SIZE = 128, 3, 224


def bilinear(features: Any, y: float, x: float) -> Any:
    """Return the value at a place, the definition: features are NumPy's or TensorFlow's [height, width, channels]."""
    height, width = features.shape[:2]
    if not (-1 <= y <= height and -1 <= x <= width):
        return features[0, 0] * 0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = math.floor(y), math.floor(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, across = y - top, x - left
    return (
        features[top, left] * ((1 - down) * (1 - across))
        + features[top, right] * ((1 - down) * across)
        + features[bottom, left] * (down * (1 - across))
        + features[bottom, right] * (down * across)
    )


def defined(features: Any, box: NDArray[Any], bins: int) -> list[Any]:
    """Return the bins of a box in places of the features: each the mean of 2 x 2 samples."""
    (y1, x1, y2, x2), result = box.astype(np.float64), []
    for row in range(bins):
        for column in range(bins):
            samples = [
                bilinear(
                    features,
                    y1 + (row + (i + 0.5) / 2) * (y2 - y1) / bins - 0.5,
                    x1 + (column + (j + 0.5) / 2) * (x2 - x1) / bins - 0.5,
                )
                for i in range(2)
                for j in range(2)
            ]
            result.append(sum(samples) / 4)
    return result


@pytest.fixture(params=["sparse product", "gathers"])
def formulation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(module, "_on_cpu", lambda: request.param == "sparse product")
    return str(request.param)


def made_pyramid(dtype: type = np.float32) -> list[NDArray[Any]]:
    random = np.random.default_rng(0)
    return [random.normal(size=(2, SIDE // s, SIDE // s, CHANNELS)).astype(dtype) for s in (4, 8, 16, 32)]


def made_boxes() -> NDArray[Any]:
    """Return boxes of all four levels, at the edges, outside, narrow, empty, of the whole image and larger."""
    random = np.random.default_rng(1)
    corners = random.uniform(-4, SIDE - 8, (2, 24, 2))
    boxes: NDArray[Any] = np.concatenate([corners, corners + random.uniform(1, 128, (2, 24, 2))], -1)
    special = [[0.0, 0.0, 128.0, 128.0], [-400, -400, 600, 600], [0, 0, 0, 0], [0, 127, 128, 128], [-9, -9, -5, -5]]
    special += [[100, 100, 140, 140], [0, 0, 240, 240], [3, 3, 3.5, 100]]
    boxes = np.concatenate([boxes, np.tile(np.array(special), [2, 1, 1])], 1)
    return boxes.astype(np.float32)


def expected(pyramid: list[NDArray[Any]], boxes: NDArray[Any], bins: int) -> NDArray[Any]:
    chosen = np.asarray(levels(boxes, POOLING_SIZE))
    result = [
        defined(pyramid[level][image].astype(np.float64), own / (4 * 2**level), bins)
        for image in range(2)
        for own, level in zip(boxes[image], chosen[image], strict=True)
    ]
    return np.array(result).reshape(-1, bins, bins, CHANNELS)


@pytest.mark.usefixtures("formulation")
@pytest.mark.parametrize("bins", [7, 14])
def test_is_its_definition(bins: int) -> None:
    pyramid, boxes = made_pyramid(), made_boxes()
    assert set(np.asarray(levels(boxes, POOLING_SIZE)).flat) == {0, 1, 2, 3}
    result = roi_align(pyramid, boxes, bins, POOLING_SIZE)
    np.testing.assert_allclose(result, expected(pyramid, boxes, bins), atol=1e-4)


@pytest.mark.usefixtures("formulation")
def test_float16_is_calculated_in_float32() -> None:
    pyramid, boxes = made_pyramid(np.float16), made_boxes()
    result = roi_align(pyramid, boxes, 7, POOLING_SIZE)
    assert result.dtype == tf.float16
    # Only the result is rounded.
    np.testing.assert_allclose(result, expected(pyramid, boxes, 7).astype(np.float16), atol=2e-3)


@pytest.mark.usefixtures("formulation")
def test_gradient_is_that_of_the_definition() -> None:
    features = tf.constant(np.random.default_rng(2).normal(size=(9, 11, CHANNELS)).astype(np.float32))
    boxes = np.array([[0.3, 1.1, 7.7, 9.2], [-1, -1, 3, 4], [4, 4, 4.2, 10.9], [6, 8, 12, 14]], np.float32)
    upstream = np.random.default_rng(3).normal(size=(4, 9, CHANNELS)).astype(np.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(features)
        plain = tf.stack([tf.stack(defined(features, box, 3)) for box in boxes])
        of_plain = tf.reduce_sum(plain * upstream)
        result = tf.reshape(aligned(*table_of(features), boxes, 3), upstream.shape)
        of_result = tf.reduce_sum(result * upstream)
    np.testing.assert_allclose(result, plain, atol=1e-4)
    gradient = tape.gradient(of_result, features)
    np.testing.assert_allclose(gradient, tape.gradient(of_plain, features), atol=1e-4)
    assert np.count_nonzero(np.asarray(gradient)) > 150


@pytest.mark.usefixtures("formulation")
def test_gradient_is_the_change_of_the_result() -> None:
    pyramid, boxes = [tf.constant(level) for level in made_pyramid()], made_boxes()
    upstream = np.random.default_rng(4).normal(size=(64, 7, 7, CHANNELS)).astype(np.float32)

    def weighted(pyramid: list[Any]) -> Any:
        return tf.reduce_sum(tf.cast(roi_align(pyramid, boxes, 7, POOLING_SIZE) * upstream, tf.float64))

    with tf.GradientTape() as tape:
        tape.watch(pyramid)
        value = weighted(pyramid)
    gradients = tape.gradient(value, pyramid)
    # The result is linear in the features: one difference is the derivative, in any direction.
    for level in range(4):
        direction = np.random.default_rng(level).normal(size=pyramid[level].shape).astype(np.float32)
        moved = [*pyramid[:level], pyramid[level] + direction, *pyramid[level + 1 :]]
        change = float(weighted(moved) - value)
        assert abs(change) > 1
        assert change == pytest.approx(float(np.sum(np.asarray(gradients[level]) * direction)), abs=5e-3, rel=1e-4)


@pytest.mark.usefixtures("formulation")
def test_no_gradient_reaches_a_box() -> None:
    boxes = tf.constant(made_boxes())
    with tf.GradientTape() as tape:
        tape.watch(boxes)
        total = tf.reduce_sum(roi_align(made_pyramid(), boxes, 7, POOLING_SIZE))
    assert tape.gradient(total, boxes) is None


@pytest.mark.usefixtures("formulation")
def test_gradient_is_the_same_to_the_bit() -> None:
    pyramid, boxes = [tf.constant(level) for level in made_pyramid()], made_boxes()

    @tf.function
    def gradients() -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(pyramid)
            total = tf.reduce_sum(roi_align(pyramid, boxes, 14, POOLING_SIZE) ** 2)
        return [tf.convert_to_tensor(each) for each in tape.gradient(total, pyramid)]

    first = gradients()
    for _ in range(3):
        for one, other in zip(first, gradients(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_xla_compiles_the_gathers_with_their_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_on_cpu", lambda: False)
    pyramid, boxes = [tf.constant(level) for level in made_pyramid()], tf.constant(made_boxes())

    def both() -> tuple[Any, list[Any]]:
        with tf.GradientTape() as tape:
            tape.watch(pyramid)
            result = roi_align(pyramid, boxes, 7, POOLING_SIZE)
        return result, [tf.convert_to_tensor(each) for each in tape.gradient(result, pyramid)]

    compiled, plain = tf.function(both, jit_compile=True)(), both()
    for one, other in zip(tf.nest.flatten(compiled), tf.nest.flatten(plain), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.usefixtures("formulation")
def test_a_box_that_is_not_finite_spoils_only_its_own_features() -> None:
    boxes = made_boxes()
    good = np.asarray(roi_align(made_pyramid(), boxes, 7, POOLING_SIZE))
    boxes[0, 3] = np.nan
    result = np.asarray(roi_align(made_pyramid(), boxes, 7, POOLING_SIZE))
    assert not np.isfinite(result[3]).all()
    np.testing.assert_array_equal(np.delete(result, 3, 0), np.delete(good, 3, 0))


@pytest.mark.parametrize(
    ("side", "level"), [(1, 0), (111, 0), (112, 1), (223, 1), (224, 2), (447, 2), (448, 3), (2000, 3), (0, 0)]
)
def test_the_level_follows_from_the_area(side: int, level: int) -> None:
    # Equation 1 of the pyramid's paper, k0 = 4: P2 is level 0.
    boxes = np.array([[10, 10, 10 + side, 10 + side], [0, 0, side / 2, side * 2]], np.float32)
    assert np.asarray(levels(boxes, 224)).tolist() == [level, level]


def table_of(features: Any) -> tuple[Any, Grids]:
    """Return the arguments of `aligned` for four boxes in one grid of features."""
    height, width, channels = features.shape
    grids = Grids(first=tf.zeros(4, tf.int32), heights=tf.fill([4], height), widths=tf.fill([4], width))
    return tf.reshape(features, [-1, channels]), grids
