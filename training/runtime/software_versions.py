"""The versions of the software that a run's figures depend on."""

import platform

import numpy as np
import tensorflow as tf

from training.runtime import tensorflow_ranks


def versions() -> dict[str, str]:
    """Return the versions of the software that a figure depends on."""
    return {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "numpy": np.__version__,
        **tensorflow_ranks.current().versions(),
    }
