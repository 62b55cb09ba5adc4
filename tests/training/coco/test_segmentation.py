from typing import Any

import numpy as np
import pytest
from pycocotools import mask

from training.coco import segmentation

SQUARE = [2, 1, 5, 1, 5, 4, 2, 4]


def test_a_square_has_its_pixels() -> None:
    expected = np.zeros((6, 8), np.uint8)
    expected[1:4, 2:5] = 1
    assert segmentation.rasterized([SQUARE], 6, 8).tolist() == expected.tolist()


def test_polygons_are_united_and_cut_at_the_image() -> None:
    found = segmentation.rasterized([SQUARE, [6, -100, 900, -100, 900, 3, 6, 3]], 6, 8)
    expected = np.zeros((6, 8), np.uint8)
    expected[1:4, 2:5] = 1
    expected[:3, 6:] = 1
    assert found.tolist() == expected.tolist()


def test_points_far_outside_do_not_move_the_edges_inside() -> None:
    # Its left edge goes from the top left to a point far below the image: 800 - 20 x 10 / 2 pixels are right of it.
    found = segmentation.rasterized([[0, 0, 40, 0, 40, 80]], 20, 40)
    assert found.sum() == pytest.approx(700, abs=20)


def test_runs_go_down_the_columns() -> None:
    found = segmentation.rasterized({"size": [3, 2], "counts": [1, 2, 3]}, 3, 2)
    assert found.tolist() == [[0, 0], [1, 0], [1, 0]]


@pytest.mark.parametrize("seed", range(20))
def test_compressed_runs_are_those_of_pycocotools(seed: int) -> None:
    random = np.random.default_rng(seed)
    height, width = (int(side) for side in random.integers(1, 90, 2))
    pixels = (random.random((height, width)) < random.random()).astype(np.uint8)
    encoded = mask.encode(np.asfortranarray(pixels))
    given = {"size": [height, width], "counts": encoded["counts"].decode()}
    assert segmentation.problem(given, height, width) is None
    assert segmentation.rasterized(given, height, width).tolist() == pixels.tolist()


# A diagonal: its last run is 12 of the 48 pixels.
DIAGONAL = mask.encode(np.asfortranarray(np.eye(6, 8, dtype=np.uint8)))["counts"].decode()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "has no polygon"),
        ([[1, 2, 3, 4]], "has a polygon of 4 numbers; it takes x and y of three points or more"),
        ([SQUARE, SQUARE[:7]], "has a polygon of 7 numbers; it takes x and y of three points or more"),
        ([[*SQUARE[:7], float("nan")]], "has a polygon that is not a list of numbers"),
        ([[*SQUARE[:7], "4"]], "has a polygon that is not a list of numbers"),
        ([3], "has a polygon that is not a list of numbers"),
        (None, "has a segmentation that is neither a list of polygons nor an RLE with size and counts"),
        ({"counts": [48]}, "has a segmentation that is neither a list of polygons nor an RLE with size and counts"),
        ({"size": [8, 6], "counts": [48]}, "has an RLE of the size [8, 6], but the image's is [6, 8]"),
        ({"size": [6, 8], "counts": [40, 7]}, "has an RLE of 47 pixels, but the image has 48"),
        ({"size": [6, 8], "counts": [40, -7, 15]}, "has an RLE whose counts are damaged"),
        ({"size": [6, 8], "counts": [40, 8.0]}, "has an RLE whose counts are damaged"),
        ({"size": [6, 8], "counts": 48}, "has an RLE whose counts are damaged"),
        ({"size": [6, 8], "counts": "é"}, "has an RLE whose counts are damaged"),
        ({"size": [6, 8], "counts": "o"}, "has an RLE whose counts are damaged"),
        ({"size": [6, 8], "counts": DIAGONAL[:-1]}, "has an RLE of 36 pixels, but the image has 48"),
        ({"size": [6, 8], "counts": [48]}, None),
        ([SQUARE], None),
    ],
)
def test_finds_what_is_wrong(given: Any, problem: str | None) -> None:
    assert segmentation.problem(given, 6, 8) == problem
