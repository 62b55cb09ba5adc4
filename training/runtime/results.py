"""The results of a run: its speed, its curves, and the versions that they depend on."""

import ctypes
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import horovod
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


class Throughput:
    """Measures one rank's speed, without the first steps: they compile the graph and fill caches."""

    def __init__(self, skip: int = 5) -> None:
        self._skip = skip
        self._steps: list[tuple[int, float, float]] = []

    def step(self, images: int, seconds: float, waited: float = 0.0) -> None:
        """Count one finished step.

        Args:
            images: Images of the step.
            seconds: From the end of the step before to the end of this one.
            waited: The part of these seconds in which the step waited for images.
        """
        self._steps.append((images, seconds, waited))

    @property
    def steps(self) -> int:
        """Number of all steps, including the first ones."""
        return len(self._steps)

    @property
    def seconds(self) -> float:
        """Seconds of all steps, including the first ones."""
        return sum(seconds for _, seconds, _ in self._steps)

    @property
    def images_per_second(self) -> float:
        """Images per second after the first steps, or of all steps in a run that has no others; 0 without any."""
        images, seconds, _ = self._sums(self._measured)
        return images / seconds if seconds else 0.0

    def recent(self, steps: int) -> tuple[float, float]:
        """Return images per second of the last steps, and the share of their time spent waiting for images.

        Both are 0 without any.
        """
        images, seconds, waited = self._sums(self._steps[-steps:] if steps else [])
        return (images / seconds, waited / seconds) if seconds else (0.0, 0.0)

    @property
    def warming_up(self) -> bool:
        """Whether the steps so far compile the graph and fill caches, so that their speed is not that of the run."""
        return len(self._steps) <= self._skip

    def figures(self) -> dict[str, Any]:
        """Return this rank's figures: measured steps, their milliseconds, and the share of the wait for images."""
        measured = self._measured
        _, seconds, waited = self._sums(measured)
        milliseconds = np.percentile([1000 * step[1] for step in measured] or [0], (50, 90, 99))
        return {
            "warm_up_steps": len(self._steps) - len(measured),
            "steps_measured": len(measured),
            "step_milliseconds": dict(zip(("p50", "p90", "p99"), milliseconds.round(2).tolist(), strict=True)),
            "data_wait_share": round(waited / seconds, 4) if seconds else 0.0,
        }

    @property
    def _measured(self) -> Sequence[tuple[int, float, float]]:
        return self._steps[self._skip :] or self._steps

    @staticmethod
    def _sums(steps: Sequence[tuple[int, float, float]]) -> tuple[float, float, float]:
        images, seconds, waited = (sum(part) for part in zip(*steps, strict=True)) if steps else (0, 0.0, 0.0)
        return images, seconds, waited


def rate(images_per_second: float) -> str:
    """Return a speed as it is printed, never rounded to 0."""
    return f"{images_per_second:,.0f}" if images_per_second >= 10 else f"{images_per_second:.2g}"


def speeds(images_per_second: float) -> dict[str, Any]:
    """Return the images per second of all ranks."""
    # Horovod: each rank measures itself; the list shows a slow rank that the total would hide.
    per_rank: Sequence[float] = hvd.allgather_object(images_per_second, name="speeds")
    return {
        "images_per_second": round(sum(per_rank), 1),
        "images_per_second_per_rank": [round(value, 1) for value in per_rank],
    }


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
        # Horovod: rank zero alone writes the curves.
        if hvd.rank() == 0:
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


def versions() -> dict[str, str]:
    """Return the versions of the software that a figure depends on."""
    return {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "horovod": horovod.__version__,
        "numpy": np.__version__,
        "mpi": _mpi_version(),
    }


def _mpi_version() -> str:
    """Return the version of the MPI library that Horovod is linked with; the mpirun on the PATH may have another."""
    if not (hvd.mpi_built() and hvd.mpi_enabled()):
        return "none: Horovod runs on Gloo"
    # Found through Horovod's own library, which is linked with it.
    (horovod_library,) = (Path(horovod.__file__).parent / "tensorflow").glob("mpi_lib*.so")
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    ctypes.CDLL(str(horovod_library)).MPI_Get_library_version(text, ctypes.byref(length))
    return text.value.decode().partition(",")[0]
