"""From a detection's 28 x 28 cells to the pixels of the original image."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as rle

_THRESHOLD = 0.5


def in_original(
    boxes: NDArray[np.float32], size: NDArray[np.int32], original: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return boxes (N x 4: y1, x1, y2, x2) in pixels of the original image, and inside it.

    Args:
        boxes: In pixels of the resized image.
        size: Its height and width.
        original: Height and width of the original image.
    """
    scale = np.tile(original / size, 2)
    return np.clip(boxes * scale, 0, np.tile(original, 2))


def paste(mask: NDArray[np.float32], box: NDArray[Any], height: int, width: int) -> NDArray[np.uint8]:
    """Return the mask of an object in its image, 1 inside (height x width, in Fortran's order for pycocotools).

    The value of a pixel is that of its centre between the centres of the mask's cells, bilinear; outside of the mask
    the cells are 0. A pixel whose centre is outside of the box has less than one half.

    Args:
        mask: Probabilities on the cells of the box.
        box: y1, x1, y2, x2 in pixels of the image.
        height: Height of the image.
        width: Width of the image.
    """
    image = np.zeros((height, width), np.uint8, order="F")
    (top, rows), (left, columns) = (
        _weights(box[axis], box[axis + 2], cells, pixels)
        for axis, cells, pixels in zip((0, 1), mask.shape, (height, width), strict=True)
    )
    inside = rows @ mask @ columns.T
    image[top : top + len(rows), left : left + len(columns)] = inside >= _THRESHOLD
    return image


def encoded(pixels: NDArray[np.uint8]) -> bytes:
    """Return the run-length encoding of a mask, as COCO has it."""
    counts: bytes = rle.encode(np.asfortranarray(pixels))["counts"]
    return counts


def _weights(start: float, end: float, cells: int, pixels: int) -> tuple[int, NDArray[np.float64]]:
    """Return the first pixel of a direction whose centre is in the box, and each cell's weight in those pixels."""
    first, last = max(0, int(np.ceil(start - 0.5))), min(pixels, int(np.floor(end - 0.5)) + 1)
    if end <= start or last <= first:
        return 0, np.zeros((0, cells))
    centres = (np.arange(first, last) + 0.5 - start) / (end - start) * cells - 0.5
    return first, np.maximum(0, 1 - np.abs(centres[:, np.newaxis] - np.arange(cells)))
