from typing import Any

import numpy as np

from training.mask_rcnn.architecture import Boxes
from training.mask_rcnn.proposals import NO_SCORE, propose, suppress

SIZES, LIMITS = np.array([[100, 100]], np.int32), Boxes(before=10, after=4)


def one_level(boxes: list[list[float]], scores: list[float]) -> tuple[Any, Any, Any, Any]:
    """Return logits, deltas, anchors and which are inside, for anchors that are the boxes."""
    count = len(boxes)
    logits = np.array([scores], np.float32)
    return logits, np.zeros((1, count, 4), np.float32), np.array(boxes, np.float32), np.ones((1, count), bool)


def proposed(*levels: tuple[Any, Any, Any, Any], limits: Boxes = LIMITS) -> list[list[float]]:
    logits, deltas, anchors, inside = zip(*levels, strict=True)
    result = propose(logits, deltas, anchors, inside, SIZES, limits)
    boxes, valid = np.asarray(result.boxes)[0], np.asarray(result.valid)[0]
    assert (boxes[~valid] == 0).all()
    return [[float(each) for each in box] for box in boxes[valid]]


def test_the_best_of_overlapping_boxes_remains_in_each_level() -> None:
    first = one_level([[0, 0, 20, 20], [0, 0, 20, 19], [50, 50, 70, 70], [0, 0, 20, 13]], [1, 2, 0.5, 0])
    second = one_level([[0, 0, 20, 20]], [1.5])
    # 0.95 with a better one is removed, 13/19 = 0.68 remains; another level does not suppress.
    assert proposed(first, second) == [[0, 0, 20, 19], [0, 0, 20, 20], [50, 50, 70, 70], [0, 0, 20, 13]]
    assert proposed(first, second, limits=Boxes(before=10, after=2)) == [[0, 0, 20, 19], [0, 0, 20, 20]]
    # Two of each level enter.
    assert proposed(first, second, limits=Boxes(before=2, after=4)) == [[0, 0, 20, 19], [0, 0, 20, 20]]


def test_boxes_are_decoded_and_clipped_to_the_image_and_empty_ones_removed() -> None:
    logits, deltas, anchors, inside = one_level([[-10, -10, 20, 20], [120, 0, 140, 20], [40, 40, 60, 60]], [3, 2, 1])
    deltas[0, 2] = [0.5, 0, np.log(2), 0]
    assert np.allclose(proposed((logits, deltas, anchors, inside)), [[0, 0, 20, 20], [40, 40, 80, 60]], atol=1e-4)


def test_an_anchor_in_the_padding_proposes_nothing() -> None:
    logits, deltas, anchors, inside = one_level([[0, 0, 20, 20], [40, 40, 60, 60]], [3, 2])
    inside[0, 0] = False
    assert proposed((logits, deltas, anchors, inside)) == [[40, 40, 60, 60]]


def test_what_is_not_finite_is_removed() -> None:
    logits, deltas, anchors, inside = one_level([[0, 0, 20, 20], [40, 40, 60, 60], [70, 70, 80, 80]], [3, np.nan, 1])
    deltas[0, 0, 0] = np.inf
    assert proposed((logits, deltas, anchors, inside)) == [[70, 70, 80, 80]]


def test_suppresses_as_the_plain_definition() -> None:
    random = np.random.default_rng(0)
    corners = random.uniform(0, 60, (3, 200, 2))
    boxes = np.concatenate([corners, corners + random.uniform(5, 40, (3, 200, 2))], -1).astype(np.float32)
    scores = random.uniform(size=(3, 200)).astype(np.float32)
    scores[0, 50:] = NO_SCORE
    groups = random.integers(4, size=(3, 200)).astype(np.float32)
    indices, valid = (np.asarray(each) for each in suppress(boxes, scores, groups, 0.5, 80))
    for image in range(3):
        kept: list[int] = []
        for place in np.argsort(-scores[image]):
            if scores[image, place] > 0 and len(kept) < 80:
                same = [each for each in kept if groups[image, each] == groups[image, place]]
                if all(overlap(boxes[image, place], boxes[image, each]) <= 0.5 for each in same):
                    kept.append(int(place))
        assert indices[image][valid[image]].tolist() == kept
        assert len(kept) > 20


def overlap(one: Any, other: Any) -> float:
    height, width = (max(0, min(one[a + 2], other[a + 2]) - max(one[a], other[a])) for a in (0, 1))
    area = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return float(height * width / (area - height * width))
