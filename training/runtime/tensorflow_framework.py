"""TensorFlow, as far as the loop must know it."""

import platform

import numpy as np
import tensorflow as tf

from training.runtime import tensorflow_ranks
from training.runtime.task import Framework
from training.runtime.tensorboard_curves import Curves


def versions() -> dict[str, str]:
    """Return the versions of the software that a figure depends on."""
    return {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "numpy": np.__version__,
        **tensorflow_ranks.current().versions(),
    }


TENSORFLOW = Framework(curves=Curves, versions=versions)
