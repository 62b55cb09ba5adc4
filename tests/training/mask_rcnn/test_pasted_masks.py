from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pycocotools import mask as rle

from training.mask_rcnn import pasted_masks


def plain(mask: NDArray[Any], box: NDArray[Any], height: int, width: int) -> NDArray[np.uint8]:
    """Return the value that every pixel's centre has between four cells, of which those outside of the mask are 0."""
    image = np.zeros((height, width), np.uint8)
    cells = len(mask)

    def cell(row: int, column: int) -> float:
        return float(mask[row, column]) if 0 <= row < cells and 0 <= column < cells else 0.0

    for y in range(height):
        for x in range(width):
            v = (y + 0.5 - box[0]) / (box[2] - box[0]) * cells - 0.5
            u = (x + 0.5 - box[1]) / (box[3] - box[1]) * cells - 0.5
            top, left = int(np.floor(v)), int(np.floor(u))
            down, right = v - top, u - left
            upper = cell(top, left) * (1 - right) + cell(top, left + 1) * right
            lower = cell(top + 1, left) * (1 - right) + cell(top + 1, left + 1) * right
            image[y, x] = upper * (1 - down) + lower * down >= 0.5
    return image


@pytest.mark.parametrize(
    "box",
    [
        (3.2, 4.7, 30.1, 21.9),
        # Larger than the mask's cells, smaller than them, less than a pixel, and at the image's edges.
        (0.0, 0.0, 48.0, 40.0),
        (10.0, 10.0, 14.0, 37.0),
        (7.4, 7.4, 8.2, 9.1),
        (40.6, 35.5, 48.0, 40.0),
    ],
)
def test_a_pasted_mask_is_that_of_the_plain_definition(box: tuple[float, ...]) -> None:
    random = np.random.default_rng(7)
    for _ in range(4):
        mask = random.random((28, 28), np.float32)
        expected = plain(mask, np.array(box), 48, 40)
        assert np.array_equal(pasted_masks.paste(mask, np.array(box), 48, 40), expected)


def test_a_full_mask_covers_the_pixels_whose_centres_are_in_its_box() -> None:
    pasted = pasted_masks.paste(np.ones((28, 28), np.float32), np.array([10, 20, 38, 76.0]), 64, 96)
    expected = np.zeros((64, 96), np.uint8)
    expected[10:38, 20:76] = 1
    assert np.array_equal(pasted, expected)


def test_a_box_without_an_area_or_between_two_centres_has_no_pixel() -> None:
    mask = np.ones((28, 28), np.float32)
    for box in ([5, 5, 5, 9], [0, 0, 0, 0], [5.6, 5.6, 6.4, 6.4]):
        assert not pasted_masks.paste(mask, np.array(box, np.float64), 16, 16).any()


def test_boxes_are_scaled_to_the_original_image_in_each_direction_and_stay_inside() -> None:
    boxes = np.array([[0, 0, 40, 60], [10, 15, 20, 30.5]], np.float32)
    moved = pasted_masks.in_original(boxes, np.array([40, 60], np.int32), np.array([80, 90], np.int32))
    assert moved.tolist() == [[0, 0, 80, 90], [20, 22.5, 40, 45.75]]
    beyond = np.array([[0, 0, 40.00001, 60.00001]], np.float32)
    assert pasted_masks.in_original(beyond, np.array([40, 60]), np.array([80, 90])).max() == 90


def test_an_encoding_is_read_by_pycocotools() -> None:
    pixels = np.zeros((20, 30), np.uint8)
    pixels[3:9, 4:6] = 1
    decoded = rle.decode({"size": [20, 30], "counts": pasted_masks.encoded(pixels)})
    assert np.array_equal(decoded, pixels)
