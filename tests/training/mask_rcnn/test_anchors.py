import numpy as np
import pytest

from training.mask_rcnn.anchors import anchors, inside
from training.mask_rcnn.architecture import RESNET50_FPN


def test_each_level_has_three_anchors_at_each_place() -> None:
    levels = anchors(RESNET50_FPN, 800, 1088)
    assert [len(level) for level in levels] == [
        3 * 200 * 272,
        3 * 100 * 136,
        3 * 50 * 68,
        3 * 25 * 34,
        3 * 13 * 17,
    ]


@pytest.mark.parametrize(("level", "size", "stride"), [(0, 32, 4), (2, 128, 16), (4, 512, 64)])
def test_anchors_have_the_area_of_their_level_and_the_ratios(level: int, size: int, stride: int) -> None:
    boxes = anchors(RESNET50_FPN, 256, 320)[level]
    heights, widths = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    np.testing.assert_allclose(heights * widths, size**2, rtol=1e-5)
    np.testing.assert_allclose((heights / widths)[:3], [0.5, 1, 2], rtol=1e-5)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    # Row after row, and the three of a place together: the order of a convolution's outputs.
    np.testing.assert_allclose(centres[:4], [[stride / 2] * 2] * 3 + [[stride / 2, stride * 1.5]], rtol=1e-5)


def test_the_anchors_of_a_shape_are_made_once() -> None:
    first, second = (anchors(RESNET50_FPN, 128, 160) for _ in range(2))
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert not first[0].flags.writeable


def test_an_anchor_belongs_to_an_image_if_its_centre_does() -> None:
    level = anchors(RESNET50_FPN, 64, 64)[3]
    found = inside(level, np.array([[64, 64], [40, 64], [10, 64]], np.int32))
    assert np.asarray(found)[:, ::3].tolist() == [[True] * 4, [True, True, False, False], [False] * 4]
