"""The outline of an object in COCO's annotations: polygons, or a run-length encoding (RLE) of the image's columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask

# The numbers of a triangle: with four numbers, pycocotools takes a polygon for a box.
_SHORTEST = 6

# In heights and widths of the image: where points of a polygon end.
_FARTHEST = 10


def problem(segmentation: Any, height: int, width: int) -> str | None:
    """Return the problem of a segmentation, None without one.

    pycocotools checks little: it reads beyond its memory where the runs of an RLE do not cover the image.

    Args:
        segmentation: As in the annotations.
        height: Height of the image, pixels.
        width: Width of the image, pixels.
    """
    if isinstance(segmentation, list):
        return _problem_of_polygons(segmentation)
    if not isinstance(segmentation, dict) or not {"size", "counts"} <= set(segmentation):
        return "has a segmentation that is neither a list of polygons nor an RLE with size and counts"
    if segmentation["size"] != [height, width]:
        return f"has an RLE of the size {segmentation['size']}, but the image's is {[height, width]}"
    counts = segmentation["counts"]
    try:
        runs = _runs(counts) if isinstance(counts, str) else counts
    except ValueError:
        return "has an RLE whose counts are damaged"
    if not isinstance(runs, list) or not all(type(run) is int and run >= 0 for run in runs):
        return "has an RLE whose counts are damaged"
    if sum(runs) != height * width:
        return f"has an RLE of {sum(runs):,} pixels, but the image has {height * width:,}"
    return None


def _problem_of_polygons(polygons: Sequence[Any]) -> str | None:
    if not polygons:
        return "has no polygon"
    for polygon in polygons:
        if not isinstance(polygon, list) or not all(is_number(value) for value in polygon):
            return "has a polygon that is not a list of numbers"
        if len(polygon) < _SHORTEST or len(polygon) % 2:
            return f"has a polygon of {len(polygon)} numbers; it takes x and y of three points or more"
    return None


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a finite number."""
    # Nothing is that large, and an integer of hundreds of digits is no float.
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e15 < value < 1e15


def rasterized(segmentation: Any, height: int, width: int) -> NDArray[np.uint8]:
    """Return the pixels of a segmentation without a problem: 1 inside, 0 outside (height x width).

    Args:
        segmentation: As in the annotations.
        height: Height of the image, pixels.
        width: Width of the image, pixels.
    """
    if isinstance(segmentation, list):
        # It cuts polygons at the image, and needs memory for their length: points far away are moved to a bound.
        bound = _FARTHEST * np.array([width, height], np.float64)
        polygons = [np.clip(np.reshape(polygon, (-1, 2)), -bound, bound).ravel().tolist() for polygon in segmentation]
        encoded = mask.merge(mask.frPyObjects(polygons, height, width))
    elif isinstance(segmentation["counts"], str):
        encoded = {"size": segmentation["size"], "counts": segmentation["counts"].encode()}
    else:
        encoded = mask.frPyObjects(segmentation, height, width)
    pixels: NDArray[np.uint8] = mask.decode(encoded)
    return pixels


def _runs(text: str) -> list[int]:
    """Return the runs of a compressed RLE: numbers of 5 bits a character, from the third on as differences.

    https://github.com/cocodataset/cocoapi common/maskApi.c, rleFrString

    Raises:
        ValueError: It ends in the middle of a number, or has other characters.
    """
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift > 60:
            raise ValueError(character)
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        value = shift = 0
    if shift:
        raise ValueError(text[-1])
    return runs
