"""A bar that is rewritten on a terminal, and a line now and then in a log."""

import time
from collections.abc import Callable
from typing import TextIO

_CELLS = 30

# Between two updates: of the bar, and of a log.
_BAR_SECONDS, _LOG_SECONDS = 0.2, 30.0


class Progress:
    """Counts the images that this run converts.

    Not tqdm: its bar would be one endless line in a pod's log.
    """

    def __init__(self, done: int, total: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Begins with what earlier runs have done already, which does not count for the speed."""
        self._before, self._done, self._total = done, done, total
        self._stream, self._clock = stream, clock
        self._started = self._shown = clock()

    def add(self, images: int) -> None:
        """Counts images, and shows how far it is if that was not shown just now."""
        self._done += images
        is_terminal = self._stream.isatty()
        if self._clock() - self._shown >= (_BAR_SECONDS if is_terminal else _LOG_SECONDS):
            self._shown = self._clock()
            # Clears the rest of the line: the text before may have been longer.
            self._stream.write(f"\r{self.line()}\x1b[K" if is_terminal else f"{self.line()}\n")
            self._stream.flush()

    def end(self) -> None:
        """Shows how far it came, and leaves the line."""
        self._stream.write(f"\r{self.line()}\x1b[K\n" if self._stream.isatty() else f"{self.line()}\n")
        self._stream.flush()

    def line(self) -> str:
        """Says how far it is."""
        share = self._done / max(self._total, 1)
        bar = ("#" * round(share * _CELLS)).ljust(_CELLS, ".")
        speed = (self._done - self._before) / max(self._clock() - self._started, 1e-6)
        left = f"{(self._total - self._done) / speed / 60:.1f} minutes left" if speed else "no image yet"
        return f"[{bar}] {self._done:,}/{self._total:,} images, {speed:,.0f} images/s, {left}"
