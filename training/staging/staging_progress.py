"""The progress of a run: a line every few seconds, and a summary."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from training.staging.s3_source import Item

#: The name of a verification if S3 only has the size.
SIZE_ONLY = "size only"


class Progress:
    """Counts files and bytes; every method may be called from any thread."""

    def __init__(self, items: Sequence[Item], clock: Callable[[], float] = time.monotonic) -> None:
        self._files, self._bytes = len(items), sum(item.size for item in items)
        self._done_bytes = self._moved_bytes = 0
        self.verified: Counter[str] = Counter()
        """The number of verified files by checksum."""
        self._lock, self._clock, self._started = threading.Lock(), clock, clock()

    def moved(self, count: int) -> None:
        """Count bytes that were copied or read."""
        with self._lock:
            self._moved_bytes += count
            self._done_bytes += count

    def found(self, item: Item) -> None:
        """Count the bytes of a file that was verified earlier."""
        with self._lock:
            self._done_bytes += item.size

    def finished(self, verified_by: str) -> None:
        """Count a verified file."""
        with self._lock:
            self.verified[verified_by] += 1

    def line(self) -> str:
        """Return the progress as a line."""
        with self._lock:
            speed = self._moved_bytes / max(self._clock() - self._started, 1e-6)
            left = max(self._bytes - self._done_bytes, 0)
            time_left = "none left" if not left else f"{left / speed / 60:.1f} minutes left" if speed else "no data yet"
            return (
                f"{self.verified.total():,}/{self._files:,} files, "
                f"{self._done_bytes / 1e9:,.1f}/{self._bytes / 1e9:,.1f} GB, "
                f"{speed / 1e6:,.0f} MB/s, {time_left}"
            )

    def summary(self) -> str:
        """Return the number of verified files by checksum."""
        by = sorted(self.verified.items(), key=lambda pair: (pair[0] == SIZE_ONLY, -pair[1], pair[0]))
        parts = ", ".join(f"{count:,} by {name}" for name, count in by)
        return f"{self._files:,} files, {self._bytes / 1e9:,.1f} GB" + (f": {parts}" if parts else "")
