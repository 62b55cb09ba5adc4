"""TensorBoard's curves of a run."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import tensorflow as tf

from training.runtime import ranks


class Curves:
    """TensorBoard's curves of a run, which rank zero alone writes. A run continues where they cannot be written."""

    def __init__(self, output: Path, folder: str = "tensorboard") -> None:
        """Create a file in a folder of `output`.

        Args:
            output: The folder given as '--output-dir'.
            folder: In it; each program that writes at the same time has its own.
        """
        self._folder = output / folder
        self._writer: tf.summary.SummaryWriter | None = None
        # Rank zero alone writes the curves.
        if ranks.rank() == 0:
            with self._or_none():
                self._writer = tf.summary.create_file_writer(str(self._folder))

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        if self._writer is None:
            return
        with self._or_none():
            with self._writer.as_default(step=step):
                for name, value in values.items():
                    tf.summary.scalar(name, value)
            self._writer.flush()

    @contextmanager
    def _or_none(self) -> Iterator[None]:
        try:
            yield
        except tf.errors.OpError as error:
            self._writer = None
            print(
                f"warning: {self._folder} cannot be written ({error.message}); "
                "the run continues, and its curves end here until it is restarted",
                file=sys.stderr,
                flush=True,
            )
