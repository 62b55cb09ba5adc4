import math

import numpy as np
import pytest

from training.mask_rcnn import boxes as box


def test_overlap_is_intersection_over_union() -> None:
    boxes = np.array([[0, 0, 10, 10], [5, 5, 5, 5]], np.float32)
    others = np.array([[0, 0, 10, 10], [0, 5, 10, 15], [10, 0, 20, 10], [2, 2, 4, 7], [0, 0, 0, 0]], np.float32)
    np.testing.assert_allclose(box.overlaps(boxes, others), [[1.0, 50 / 150, 0.0, 10 / 100, 0.0], [0.0] * 5], rtol=1e-6)
    np.testing.assert_allclose(box.intersections(boxes[:1], others)[0], [100, 50, 0, 10, 0])


def test_encodes_by_hand() -> None:
    # Twice as high, three quarters as wide, 5 further down and 10 to the right.
    origin, target = np.array([[0, 0, 10, 40]], np.float32), np.array([[0, 15, 20, 45]], np.float32)
    expected = [10 * 5 / 10, 10 * 10 / 40, 5 * math.log(2), 5 * math.log(0.75)]
    np.testing.assert_allclose(box.encode(target, origin, box.REGION_WEIGHTS), [expected], rtol=1e-6)


@pytest.mark.parametrize("weights", [box.REGION_WEIGHTS, box.ANCHOR_WEIGHTS])
def test_decodes_what_it_encodes(weights: tuple[float, ...]) -> None:
    random = np.random.default_rng(0)
    corners = random.uniform(0, 500, (2, 200, 2)).astype(np.float32)
    boxes, origins = np.concatenate([corners, corners + random.uniform(4, 200, (2, 200, 2))], -1).astype(np.float32)
    np.testing.assert_allclose(box.decode(box.encode(boxes, origins, weights), origins, weights), boxes, atol=1e-2)


def test_a_row_without_a_box_encodes_to_something_finite() -> None:
    empty, anchor = np.zeros((1, 4), np.float32), np.array([[0, 0, 10, 10]], np.float32)
    assert np.isfinite(box.encode(empty, anchor, box.ANCHOR_WEIGHTS)).all()
    assert np.isfinite(box.encode(anchor, empty, box.ANCHOR_WEIGHTS)).all()


def test_a_box_grows_at_most_from_16_to_1000() -> None:
    origin = np.array([[92, 92, 108, 108]], np.float32)
    decoded = box.decode(np.array([[0, 0, 50, 50]], np.float32), origin, box.ANCHOR_WEIGHTS)
    np.testing.assert_allclose(decoded, [[-400, -400, 600, 600]], rtol=1e-5)


def test_clips_to_each_images_size() -> None:
    boxes = np.array([[[-5, -5, 50, 50]], [[30, 2, 60, 70]]], np.float32)
    clipped = box.clip(boxes, np.array([[20, 40], [100, 60]], np.int32))
    np.testing.assert_array_equal(clipped, [[[0, 0, 20, 40]], [[30, 2, 60, 60]]])
