from typing import Any

import numpy as np
import tensorflow as tf

from training.mask_rcnn.sampling import Samples, Truth, sample_anchors, sample_regions

KEYS = np.array([[5, 7]], np.int32)


def truth(*objects: tuple[list[float], int]) -> Truth:
    boxes, labels = np.zeros((1, 6, 4), np.float32), np.zeros((1, 6), np.int32)
    for place, (box, label) in enumerate(objects):
        boxes[0, place], labels[0, place] = box, label
    return Truth(tf.constant(boxes), tf.constant(labels))


def drawn(samples: Samples) -> tuple[set[int], set[int]]:
    """Return the indices that are objects, and those that are background."""
    indices, positive, used = (np.asarray(each)[0] for each in (samples.indices, samples.positive, samples.used))
    assert len(set(indices[used])) == used.sum()
    assert not (positive & ~used).any()
    return set(indices[positive].tolist()), set(indices[used & ~positive].tolist())


def squares(count: int) -> Any:
    """Return boxes of 10 x 10, the n-th n pixels from the left: it overlaps the first with (10 - n) / (10 + n)."""
    left = np.arange(count, dtype=np.float32)
    return np.stack([left * 0, left, left * 0 + 10, left + 10], 1)


def test_anchors_are_matched_by_the_thresholds_of_the_paper() -> None:
    found = sample_anchors(squares(20), np.ones((1, 20), bool), truth(([0, 0, 10, 10], 1)), KEYS, 40)
    # 9/11 = 0.82 is an object, 8/12 = 0.67 and 6/14 = 0.43 are neither, 5/15 = 0.33 neither, 4/16 = 0.25 is background.
    assert drawn(found) == ({0, 1}, set(range(6, 20)))


def test_an_object_that_no_anchor_fits_takes_the_nearest_ones() -> None:
    # 3 x 10 inside the first anchors, with an overlap of 0.3 each; and far away a second one that overlaps nothing.
    given = truth(([0, 4, 10, 7], 1), ([50, 500, 60, 510], 2))
    positive, negative = drawn(sample_anchors(squares(20), np.ones((1, 20), bool), given, KEYS, 40))
    # All that contain it overlap it equally.
    assert positive == {0, 1, 2, 3, 4}
    assert negative == set(range(5, 20))


def test_an_anchor_in_the_padding_is_neither() -> None:
    allowed = np.ones((1, 20), bool)
    allowed[0, [0, 7]] = False
    assert drawn(sample_anchors(squares(20), allowed, truth(([0, 0, 10, 10], 1)), KEYS, 40)) == (
        {1},
        {6, *range(8, 20)},
    )


def test_what_is_in_a_crowd_region_is_not_background() -> None:
    # It covers 10, 9, 8 and 7 tenths of the anchors 9 to 6 and all of those after it, up to 0.7 of anchor 19.
    crowd = ([0.0, 9.0, 10.0, 26.0], -1)
    found = sample_anchors(squares(20), np.ones((1, 20), bool), truth(([0, 0, 10, 10], 1), crowd), KEYS, 40)
    assert drawn(found) == ({0, 1}, set())
    regions = sample_regions(squares(20)[np.newaxis], np.ones((1, 20), bool), truth(crowd), KEYS, 40)
    assert drawn(regions) == (set(), {0, 1, 2, 3, 4, 5})


def test_proposals_are_objects_from_an_overlap_of_a_half() -> None:
    found = sample_regions(
        squares(20)[np.newaxis], np.ones((1, 20), bool), truth(([0, 0, 10, 10], 1), ([0, 12, 10, 22], 3)), KEYS, 60
    )
    # 7/13 = 0.54, 6/14 = 0.43: of the first object, then of the second at 12.
    positive, negative = drawn(found)
    assert positive == {0, 1, 2, 3, *range(9, 16)}
    assert negative == {4, 5, 6, 7, 8, 16, 17, 18, 19}
    indices, objects = np.asarray(found.indices)[0], np.asarray(found.objects)[0]
    assert {int(i): int(o) for i, o in zip(indices, objects, strict=True) if i in positive} == {
        **dict.fromkeys(range(4), 0),
        **dict.fromkeys(range(9, 16), 1),
    }


def test_a_proposal_that_does_not_exist_is_not_drawn() -> None:
    valid = np.arange(20)[np.newaxis] < 5
    assert drawn(sample_regions(squares(20)[np.newaxis], valid, truth(([0, 0, 10, 10], 1)), KEYS, 40)) == (
        {0, 1, 2, 3},
        {4},
    )


def test_half_of_the_anchors_and_a_quarter_of_the_proposals_can_be_objects() -> None:
    boxes = np.concatenate([np.repeat(squares(1), 600, 0), np.repeat(squares(20)[19:], 600, 0)])
    given = truth(([0, 0, 10, 10], 1))
    positive, negative = drawn(sample_anchors(boxes, np.ones((1, 1200), bool), given, KEYS, 256))
    assert (len(positive), len(negative)) == (128, 128)
    positive, negative = drawn(sample_regions(boxes[np.newaxis], np.ones((1, 1200), bool), given, KEYS, 512))
    assert (len(positive), len(negative)) == (128, 384)
    # Few objects: background takes the other places.
    positive, negative = drawn(sample_anchors(boxes[590:], np.ones((1, 610), bool), given, KEYS, 256))
    assert (len(positive), len(negative)) == (10, 246)


def test_what_is_drawn_follows_from_the_images_key_alone() -> None:
    boxes = np.concatenate([np.repeat(squares(1), 50, 0), np.repeat(squares(20)[19:], 600, 0)])
    given, allowed = truth(([0, 0, 10, 10], 1)), np.ones((1, 650), bool)
    one = sample_anchors(boxes, allowed, given, KEYS, 64)
    other = sample_anchors(boxes, allowed, given, KEYS + 1, 64)
    both = sample_anchors(
        boxes,
        np.repeat(allowed, 2, 0),
        Truth(*(tf.repeat(each, 2, 0) for each in given)),
        np.concatenate([KEYS + 1, KEYS]),
        64,
    )
    np.testing.assert_array_equal(both.indices[1], one.indices[0])
    np.testing.assert_array_equal(both.indices[0], other.indices[0])
    assert drawn(one) != drawn(other)
    # Proposals have other random numbers than anchors.
    regions = sample_regions(boxes[np.newaxis], allowed, given, KEYS, 64)
    assert drawn(regions)[1] != drawn(one)[1]
