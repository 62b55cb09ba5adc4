import re

import numpy as np
import pytest

from training.coco import padded_shapes
from training.coco.padded_shapes import PaddedShapes

COCO = PaddedShapes(800, 1333)


def test_coco_has_three_widths_of_each_orientation() -> None:
    assert COCO.shapes == [(800, 1088), (800, 1216), (800, 1344), (1088, 800), (1216, 800), (1344, 800)]


def test_the_table_is_derived_from_the_shapes() -> None:
    rows = re.findall(r"(\d+) x (\d+) +(\d+) x (\d+) +(\d+) x (\d+) +([\d.]+) %", padded_shapes.__doc__ or "")
    assert len(rows) == 6
    for row in rows:
        width, height = int(row[0]), int(row[1])
        size = np.array([[height, width]])
        (resized,), (bucket,) = COCO.resized(size).tolist(), COCO.buckets(size).tolist()
        padded = COCO.shapes[bucket]
        share = 100 - 100 * np.prod(resized) / np.prod(padded)
        assert (*resized[::-1], *padded[::-1], f"{share:.1f}") == (*map(int, row[2:6]), row[6])


@pytest.mark.parametrize(("short", "long"), [(800, 1333), (128, 213), (160, 160), (600, 700), (32, 1000)])
def test_every_image_fits_into_the_smallest_shape_of_its_orientation(short: int, long: int) -> None:
    shapes = PaddedShapes(short, long)
    random = np.random.default_rng(0)
    sizes = np.concatenate([random.integers(1, 700, (500, 2)), [[1, 10000], [10000, 1], [7, 7]]])
    resized, buckets = shapes.resized(sizes), shapes.buckets(sizes)
    assert (resized.min(axis=1) <= short).all()
    assert (resized.max(axis=1) <= long).all()
    all_shapes = shapes.shapes
    half = len(all_shapes) // 2
    for size, (height, width), bucket in zip(sizes, resized, buckets, strict=True):
        first = half if size[0] > size[1] else 0
        fitting = [
            place for place in range(first, first + half) if (all_shapes[place] >= np.array([height, width])).all()
        ]
        assert bucket == min(fitting, key=lambda place: all_shapes[place])


@pytest.mark.parametrize(("short", "long"), [(800, 1333), (130, 217), (100, 100)])
def test_shapes_are_multiples_of_32(short: int, long: int) -> None:
    assert all(side % 32 == 0 for shape in PaddedShapes(short, long).shapes for side in shape)


def test_equal_widths_are_one_shape() -> None:
    assert PaddedShapes(128, 128).shapes == [(128, 128), (128, 128)]
