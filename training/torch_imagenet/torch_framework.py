"""PyTorch, as far as the loop must know it: its versions, and its writer of TensorBoard's curves."""

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
import torchvision
from torch.utils.tensorboard import SummaryWriter

from training.runtime import ranks
from training.runtime.task import Framework


class Curves:
    """TensorBoard's curves of a run, which rank zero alone writes. A run continues where they cannot be written."""

    def __init__(self, output: Path) -> None:
        """Create a file in the folder `tensorboard` of `output`."""
        self._folder = output / "tensorboard"
        self._writer: SummaryWriter | None = None
        if ranks.rank() == 0:
            try:
                self._writer = SummaryWriter(str(self._folder))
            except OSError as error:
                self._end(error)

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        if self._writer is None:
            return
        try:
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)
            self._writer.flush()
        except OSError as error:
            self._end(error)

    def _end(self, error: OSError) -> None:
        self._writer = None
        print(
            f"warning: {self._folder} cannot be written ({error.strerror or error}); "
            "the run continues, and its curves end here until it is restarted",
            file=sys.stderr,
            flush=True,
        )


def versions() -> dict[str, str]:
    """Return the versions of the software that a figure depends on."""
    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "numpy": np.__version__,
    }
    if torch.cuda.is_available():
        found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return found


TORCH = Framework(curves=Curves, versions=versions)
