"""Passes on what a launcher writes, line by line and at once, with the number of each line's rank."""

import os
import select
import selectors
import subprocess
import sys
from collections import deque
from typing import IO, TextIO, cast

from training_workloads.run_local.rank_lines import RankLines

__all__ = ["LauncherOutput"]

_CHUNK_BYTES = 65536

# The longest last words of a launcher, a traceback of horovodrun's, have some 20 lines.
_REMEMBERED_LINES = 50


class LauncherOutput:
    """The standard output and the standard error of a launcher, kept apart, each in its order.

    Attributes:
        reader_gone: Whether nobody takes our output any more: a closed terminal, or `… | head` that has enough.
    """

    def __init__(self, launcher: subprocess.Popen[bytes]) -> None:
        """Takes over the pipes of a launcher.

        Args:
            launcher: A process with pipes as standard output and standard error.
        """
        self.reader_gone = False
        self._words: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self._selector = selectors.DefaultSelector()
        for pipe, target in ((launcher.stdout, sys.stdout), (launcher.stderr, sys.stderr)):
            assert pipe is not None, "the launcher was started without pipes"
            target.flush()
            self._selector.register(pipe, selectors.EVENT_READ, (RankLines(), target))

    @property
    def launchers_words(self) -> str:
        """The last lines that the launcher itself, no rank, wrote on standard error."""
        return "\n".join(self._words)

    def pass_on(self, seconds: float) -> bool:
        """Waits for output, passes on what came, and says whether something did.

        Args:
            seconds: How long to wait at most.
        """
        ready = self._selector.select(seconds)
        for key, _ in ready:
            lines, target = key.data
            data = os.read(key.fd, _CHUNK_BYTES)
            self._write(list(lines.feed(data)), target)
            if not data:
                self._close(key)
        return bool(ready)

    def finish(self) -> None:
        """Passes on what is left when every process that could write is gone."""
        while self._selector.get_map() and self.pass_on(0):
            pass
        for key in list(self._selector.get_map().values()):
            self._close(key)
        self._selector.close()

    def _close(self, key: selectors.SelectorKey) -> None:
        lines, target = key.data
        self._write(list(lines.end()), target)
        self._selector.unregister(key.fileobj)
        cast(IO[bytes], key.fileobj).close()

    def _write(self, lines: list[str], target: TextIO) -> None:
        if target is sys.stderr:
            self._words.extend(line for line in lines if not line.startswith("rank "))
        text = "".join(f"{line}\n" for line in lines)
        if text and not self.reader_gone:
            try:
                _write_all(target.fileno(), text.encode(errors="surrogateescape"))
            except OSError:
                self.reader_gone = True


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            # Another process that has the terminal, such as Node.js, made it return at once.
            select.select([], [descriptor], [])
