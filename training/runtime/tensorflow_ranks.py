"""The interface of TensorFlow's ranks, beyond that of every framework's."""

import platform
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from . import ranks
from .elastic import CheckHosts


class TensorFlowRanks(ranks.Ranks):
    """A single rank; subclasses connect several."""

    def connect(self) -> None:
        """Connect the ranks where that could not be done before the device was chosen; later calls do nothing."""

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the software that connects the ranks."""
        return {}

    def run(self, program: Callable[[CheckHosts], None], variables: Sequence[tf.Variable]) -> None:
        """Run a program to its end, with the restarts that the ranks' software makes itself.

        Args:
            program: Resumes from the newest checkpoint.
            variables: All that training changes.
        """
        program(lambda: None)

    def mean_gradients(
        self,
        tape: tf.GradientTape,
        loss: tf.Tensor,
        weights: Sequence[tf.Variable],
        *,
        compression: str,
        groups: int,
    ) -> list[tf.Tensor]:
        """Return the mean over the ranks of the gradients of each rank's loss; part of a graph.

        Args:
            tape: Tape of the forward pass.
            loss: Loss of this rank.
            weights: In the order of the gradients.
            compression: `none` or `fp16`, which sends halves of the bytes.
            groups: All-reduces of a step; 0 sends gradients while others are computed.
        """
        return list(tape.gradient(loss, weights))


def versions() -> dict[str, str]:
    """Return the versions of the software that a figure depends on."""
    own = {"python": platform.python_version(), "tensorflow": tf.__version__, "numpy": np.__version__}
    return {**own, **current().versions()}


def current() -> TensorFlowRanks:
    """Return the ranks in use; a single one where a program has registered none."""
    found = ranks.current()
    return found if isinstance(found, TensorFlowRanks) else TensorFlowRanks()
