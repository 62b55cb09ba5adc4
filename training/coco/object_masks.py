"""The mask of an object as a record has it: sampled over the object's box, one bit a cell."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Cells of a mask in each direction. The network's targets have 28, of a part of the box or of more than the box.
MASK_SIZE = 112

#: Bytes of a packed mask.
PACKED = MASK_SIZE * MASK_SIZE // 8


def packed(pixels: NDArray[np.uint8], box: tuple[float, float, float, float]) -> bytes:
    """Return the packed mask of an object: rows of cells, the first cell in the highest bit.

    Args:
        pixels: The object's pixels, 1 inside (height x width of the image).
        box: y1, x1, y2, x2 in pixels, continuous coordinates.
    """
    return np.packbits(sampled(pixels, box)).tobytes()


def sampled(pixels: NDArray[np.uint8], box: tuple[float, float, float, float]) -> NDArray[np.bool_]:
    """Return which cells of the box belong to the object: those that it covers by half or more.

    A thin object covers no cell of a large box by half: its cells are those with at least half of the largest share.
    An object without a pixel is smaller than one, and has the whole box.
    """
    y1, x1, y2, x2 = box
    # Only the pixels of the box: most objects are much smaller than their image.
    top, left = int(y1), int(x1)
    inside = pixels[top : math.ceil(y2), left : math.ceil(x2)].astype(np.float32)
    rows = _overlaps(y1 - top, y2 - top, inside.shape[0])
    shares = rows @ inside @ _overlaps(x1 - left, x2 - left, inside.shape[1]).T
    # Rounding: a cell that is half covered counts.
    most = float(shares.max())
    limit = 0.5 if most >= 0.5 else most / 2
    cells: NDArray[np.bool_] = shares >= limit - 1e-5
    return cells


def _overlaps(start: float, end: float, pixels: int) -> NDArray[Any]:
    """Return which share of each cell is on each pixel of one direction (cells x pixels)."""
    edges = np.linspace(start, end, MASK_SIZE + 1)[:, np.newaxis]
    places = np.arange(pixels)
    covered = np.minimum(edges[1:], places + 1) - np.maximum(edges[:-1], places)
    overlaps: NDArray[Any] = np.maximum(covered, 0) * (MASK_SIZE / (end - start))
    return overlaps.astype(np.float32)
