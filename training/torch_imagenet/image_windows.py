"""The part of an image that is used: by seed, epoch and number of its record, so that ranks change nothing."""

import math
from typing import NamedTuple

import numpy as np

from training.imagenet.crops_and_colors import ASPECT, ATTEMPTS, CENTRE


class Window(NamedTuple):
    """A part of an image, pixels."""

    top: int
    left: int
    height: int
    width: int


def training_window(height: int, width: int, number: int, key: int, min_crop_area: float) -> Window:
    """Draw a random part of an image.

    Area and ratio of the sides are in the ranges of TensorFlow's side; the draws are others.

    Args:
        height: Height of the image, pixels.
        width: Width of the image, pixels.
        number: The record's number.
        key: The value of `pipeline.epoch_key`.
        min_crop_area: The smallest part of the image's area, above 0 to 1.
    """
    random = np.random.default_rng([key, number])
    for _ in range(ATTEMPTS):
        area, aspect = random.uniform(min_crop_area, 1.0) * height * width, random.uniform(*ASPECT)
        chosen_height, chosen_width = round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))
        if 0 < chosen_height <= height and 0 < chosen_width <= width:
            top, left = random.integers(height - chosen_height + 1), random.integers(width - chosen_width + 1)
            return Window(int(top), int(left), chosen_height, chosen_width)
    return Window(0, 0, height, width)


def evaluation_window(height: int, width: int) -> Window:
    """Return the central square: as a central crop of the image resized to a short side of 8/7 of the size."""
    side = round(CENTRE * min(height, width))
    return Window((height - side) // 2, (width - side) // 2, side, side)
