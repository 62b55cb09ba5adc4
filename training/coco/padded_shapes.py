"""The few shapes to which images are padded: a step compiles once for each, and all ranks have the same in a step.

An image is resized to a short side, unless its long side would be too long, and padded at the right and at the bottom.
There are three widths for landscape images and three heights for portrait images: for COCO's common proportions 4:3
and 3:2, and for the longest side. With a short side of 800 and a long side of 1,333 pixels (derived):

    image       resized       padded        share of padding
    640 x 480   1067 x 800    1088 x 800     1.9 %
    500 x 375   1067 x 800    1088 x 800     1.9 %
    640 x 427   1199 x 800    1216 x 800     1.4 %
    480 x 640    800 x 1067    800 x 1088    1.9 %
    640 x 640    800 x 800    1088 x 800    26.5 %
    640 x 360   1333 x 750    1344 x 800     7.0 %
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The network halves an image five times.
_MULTIPLE = 32

# Long side to short side, of the two shapes below the longest.
_PROPORTIONS = (Fraction(4, 3), Fraction(3, 2))


@dataclass(frozen=True, slots=True)
class PaddedShapes:
    """The shapes of the batches, which are the buckets of the images."""

    short_side: int
    """Pixels, of an image that is resized."""
    long_side: int
    """The most pixels."""

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Return height and width of each bucket, the first of landscape images; some may be equal."""
        sides = [min(self.long_side, round(self.short_side * proportion)) for proportion in _PROPORTIONS]
        long_sides = sorted({_padded(side) for side in (*sides, self.long_side)})
        short = _padded(self.short_side)
        return [*((short, side) for side in long_sides), *((side, short) for side in long_sides)]

    def resized(self, sizes: NDArray[Any]) -> NDArray[Any]:
        """Return height and width of resized images.

        Args:
            sizes: Heights and widths, pixels (images x 2).
        """
        sides = sizes.astype(np.float64)
        scales = np.minimum(self.short_side / sides.min(axis=1), self.long_side / sides.max(axis=1))
        resized: NDArray[Any] = np.maximum(np.round(sides * scales[:, np.newaxis]), 1).astype(np.int32)
        return resized

    def buckets(self, sizes: NDArray[Any]) -> NDArray[Any]:
        """Return the bucket of each image: the smallest of its orientation into which it fits; a square is landscape.

        Args:
            sizes: Heights and widths, pixels (images x 2).
        """
        resized = self.resized(sizes)
        shapes = self.shapes
        long_sides = [width for _, width in shapes[: len(shapes) // 2]]
        places = np.searchsorted(long_sides, resized.max(axis=1))
        is_portrait = sizes[:, 0] > sizes[:, 1]
        buckets: NDArray[Any] = places + is_portrait * len(long_sides)
        return buckets


def _padded(side: int) -> int:
    return -(-side // _MULTIPLE) * _MULTIPLE
