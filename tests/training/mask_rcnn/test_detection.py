from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.mask_rcnn.made_batch import TINY, made_batch
from training.mask_rcnn import boxes as box
from training.mask_rcnn import detection
from training.mask_rcnn.detection import Detections, detect
from training.mask_rcnn.model import build
from training.mask_rcnn.proposals import Proposals


@pytest.fixture(scope="module")
def model() -> tf.keras.Model:
    tf.keras.utils.set_random_seed(1)
    return build(TINY)


def test_detections_have_their_shapes_and_are_inside_the_image(model: tf.keras.Model) -> None:
    batch = made_batch([[1, 2], [], [3]], size=(40, 52))
    # A network that has learned nothing gives each of 4 classes a score of about a quarter, above 0.05.
    found = detect(model, batch.images, batch.sizes, TINY)
    assert [tuple(each.shape) for each in found] == [(3, 100, 4), (3, 100), (3, 100), (3, 100, 28, 28)]
    assert [each.dtype for each in found] == [tf.float32, tf.float32, tf.int32, tf.float32]
    boxes, scores, labels, masks = (np.asarray(each) for each in found)
    assert (boxes >= 0).all()
    assert (boxes[..., ::2] <= 40).all()
    assert (boxes[..., 1::2] <= 52).all()
    exist = labels > 0
    assert exist.sum() > 20
    assert set(labels[exist].tolist()) <= {1, 2, 3}
    assert (scores[exist] > 0.05).all()
    assert np.abs(masks[exist] - 0.5).max() < 0.1
    for each in (boxes, scores, masks):
        assert (each[~exist] == 0).all()
    assert (np.diff(scores, axis=1) <= 0).all()


def test_nothing_is_detected_below_the_least_score(model: tf.keras.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "LEAST_SCORE", 0.9)
    batch = made_batch([[1, 2]])
    assert all((np.asarray(each) == 0).all() for each in detect(model, batch.images, batch.sizes, TINY))


def test_an_image_is_detected_the_same_in_any_batch(model: tf.keras.Model) -> None:
    batch = made_batch([[1, 2], [3]])
    both = detect(model, batch.images, batch.sizes, TINY)
    alone = detect(model, batch.images[1:], batch.sizes[1:], TINY)
    for one, other in zip(both, alone, strict=True):
        np.testing.assert_allclose(one[1], other[0], atol=1e-4)


@pytest.fixture
def best() -> Callable[..., Detections]:
    """Return the boxes, scores and labels from logits and differences of two proposals, for two classes."""

    def found(logits: list[list[float]], deltas: Any, valid: tuple[bool, bool] = (True, True)) -> Any:
        proposals = Proposals(tf.constant([[[0, 0, 20, 20], [50, 50, 70, 70]]], tf.float32), tf.constant([valid]))
        sizes = tf.constant([[100, 60]])
        return detection._best(proposals, tf.constant(logits, tf.float32), tf.constant(deltas, tf.float32), sizes, 2)

    return found


def test_each_class_has_its_box(best: Callable[..., Any]) -> None:
    deltas = np.zeros((2, 2, 4))
    # 4 pixels down: 10 x 4 / 20, of class 2 of the first proposal.
    deltas[0, 1] = [2, 0, 0, 0]
    boxes, scores, labels = best([[0, 3, 2], [9, 0, 0]], deltas)
    total = np.exp([0, 3, 2]).sum()
    np.testing.assert_allclose(boxes[0, :3], [[0, 0, 20, 20], [4, 0, 24, 20], [0, 0, 0, 0]], atol=1e-5)
    np.testing.assert_allclose(scores[0, :3], [np.exp(3) / total, np.exp(2) / total, 0], rtol=1e-5)
    assert labels[0, :3].numpy().tolist() == [1, 2, 0]


def test_the_better_of_overlapping_boxes_of_a_class_remains(best: Callable[..., Any]) -> None:
    # The second proposal is predicted to be the first one.
    there = box.encode(
        np.array([[0, 0, 20, 20]], np.float32), np.array([[50, 50, 70, 70]], np.float32), box.REGION_WEIGHTS
    )
    deltas = np.zeros((2, 2, 4), np.float32)
    deltas[1] = there
    boxes, _, labels = best([[0, 5, 0], [0, 6, 4]], deltas)
    assert labels[0, :3].numpy().tolist() == [1, 2, 0]
    np.testing.assert_allclose(boxes[0, :2], [[0, 0, 20, 20]] * 2, atol=1e-4)


def test_boxes_are_clipped_and_proposals_that_do_not_exist_are_nothing(best: Callable[..., Any]) -> None:
    boxes, _, labels = best([[0, 5, 0], [0, 5, 0]], np.zeros((2, 2, 4)), valid=(False, True))
    assert labels[0, :2].numpy().tolist() == [1, 0]
    np.testing.assert_array_equal(boxes[0, 0], [50, 50, 70, 60])
