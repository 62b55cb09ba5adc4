"""scikit-learn's handwritten digits, split into training images and test images."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass(frozen=True, slots=True)
class Digits:
    """Images of 8 x 8 pixels from 0 to 1 with their labels, split in two."""

    train_images: NDArray[np.float32]
    test_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_labels: NDArray[np.int64]


def load() -> Digits:
    """Split the 1,797 digits that come with scikit-learn into 1,437 training images and 360 test images."""
    digits = load_digits()
    images = (digits.images[..., np.newaxis] / 16).astype(np.float32)
    # The same split for every --seed: runs can be compared, and no run is tested on images that another trained on.
    return Digits(*train_test_split(images, digits.target, test_size=360, random_state=0, stratify=digits.target))
