"""The time of a run as its user sees it: with start-up, evaluation and saves."""

import os
import time
from collections.abc import Mapping
from pathlib import Path


class WallClock:
    """Counts seconds and images of all starts of a run, each until its last save."""

    def __init__(self, began: float, written: Mapping[str, float]) -> None:
        """Continue from the results of the checkpoint.

        Args:
            began: When this start began, on `time.monotonic`.
            written: The result of `figures` in the checkpoint from which the run resumes; empty without one.
        """
        self._began = began - written.get("wall_seconds", 0.0)
        self._images = int(written.get("trained_images", 0))

    def add(self, images: float) -> None:
        """Add the images of all ranks."""
        self._images += round(images)

    def figures(self) -> dict[str, float]:
        """Return seconds, images, and images per second, so far."""
        seconds = time.monotonic() - self._began
        return {
            "wall_seconds": round(seconds, 3),
            "wall_images_per_second": round(self._images / seconds, 3),
            "trained_images": self._images,
        }


def process_start() -> float:
    """Return when this process began, on `time.monotonic`: the imports take seconds."""
    # The fields after the program's name, which may contain spaces: the 22nd of all is the start, in ticks since boot.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - age
