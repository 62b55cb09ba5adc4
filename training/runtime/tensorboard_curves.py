"""TensorBoard's curves of a run."""

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from . import files, ranks


class Curves:
    """TensorBoard's curves of a run, which rank zero alone writes. A run continues where they cannot be written."""

    def __init__(self, output: Path, folder: str = "tensorboard") -> None:
        """Create a file in a folder of `output`.

        Args:
            output: The folder given as '--output-dir'.
            folder: In it; each program that writes at the same time has its own.
        """
        self._folder = output / folder
        self._path: Path | None = None
        # Rank zero alone writes the curves.
        if ranks.rank() == 0:
            with self._or_none():
                self._folder.mkdir(parents=True, exist_ok=True)
                # The names of a run sort by their time, and TensorBoard knows them by their beginning.
                name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
                self._path = self._folder / name
                self._write(file_version="brain.Event:2")

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        with self._or_none():
            points = [Summary.Value(tag=name, simple_value=float(value)) for name, value in values.items()]
            self._write(step=step, summary=Summary(value=points))

    def _write(self, **content: Any) -> None:
        if self._path is not None:
            # Not TensorBoard's EventFileWriter: its thread would find an error later.
            with files.append(self._path) as file:
                RecordWriter(file).write(Event(wall_time=time.time(), **content).SerializeToString())

    @contextmanager
    def _or_none(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._path = None
            print(
                f"warning: {self._folder} cannot be written ({error.strerror or error}); "
                "the run continues, and its curves end here until it is restarted",
                file=sys.stderr,
                flush=True,
            )
