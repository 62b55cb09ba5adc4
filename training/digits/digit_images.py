"""scikit-learn's handwritten digits, split into images to train on and images to test with."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass(frozen=True, slots=True)
class Digits:
    """Images of 8x8 pixels from 0 to 1 with their labels, and the part that is kept back for the test."""

    train_images: np.ndarray
    test_images: np.ndarray
    train_labels: np.ndarray
    test_labels: np.ndarray


def load() -> Digits:
    """Splits the 1,797 digits that come with scikit-learn into 1,437 to train on and 360 to test with."""
    digits = load_digits()
    images = (digits.images[..., np.newaxis] / 16).astype(np.float32)
    # The same split whatever --seed is: runs can be compared, and none is tested on what another was trained on.
    return Digits(*train_test_split(images, digits.target, test_size=360, random_state=0, stratify=digits.target))
