"""Forward a launcher's output line by line, with the number of each line's rank in place of the launcher's tag.

The tags: Open MPI 4.1 `[1,3]<stdout>:text`, Open MPI 5 `[1,3]<stdout>: text` or with the
launcher's name `[prterun-host-123@1,3]<stdout>: text`, horovodrun `[3]<stdout>:text`.
"""

import os
import re
import select
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from typing import IO, TextIO, cast

__all__ = ["LauncherOutput", "RankLines", "rank_line"]

_CHUNK_BYTES = 65536

# The longest message with which a launcher ends, a traceback of horovodrun, has some 20 lines.
_REMEMBERED_LINES = 50

_STREAM = r"<(?:stdout|stderr|stddiag)>:"
# How torchrun's own traceback begins, and what is in it where a rank has failed.
_TRACEBACK, _RANK_FAILED = "Traceback (most recent call last):", "errors.ChildFailedError"

# The job within mpirun, a comma, the rank.
_MPI_TAG = re.compile(rf"\[(?:[^\[\]\s@]+@)?\d+,(\d+)\]{_STREAM}")
_HOROVOD_TAG = re.compile(rf"\[(\d+)\]{_STREAM}")


def rank_line(text: str) -> str:
    """Return a line with its rank in front, `rank  3 | text`, or unchanged if it has no tag."""
    if tag := _MPI_TAG.match(text):
        # Open MPI 5 adds the space. With Open MPI 4 an indented line loses one column.
        shown = text[tag.end() :].removeprefix(" ")
    elif tag := _HOROVOD_TAG.match(text):
        shown = text[tag.end() :]
    else:
        return text
    # Two columns: the ranks of one node are aligned.
    return f"rank {tag[1]:>2} | {shown}"


class RankLines:
    """Joins the pieces of one output to whole lines, of any bytes.

    Open MPI 4 tags every piece that it reads from a rank: a line that a rank wrote in two pieces has a tag in its
    middle, and pieces of other ranks in between.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._begun: dict[str, str] = {}

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the lines that the next piece of the output completes, without their line ends."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield self._whole(line)

    def end(self) -> Iterator[str]:
        """Yield the lines without a line end that remain when the output ends."""
        if self._rest:
            yield self._whole(self._rest)
        yield from map(rank_line, self._begun.values())
        self._rest, self._begun = b"", {}

    def _whole(self, line: bytes) -> str:
        """Return the line that the last piece completes; the pieces before it begin lines of other ranks."""
        text = line.decode(errors="surrogateescape")
        tags = list(_MPI_TAG.finditer(text))
        if not tags or tags[0].start() > 0:
            return rank_line(text)
        for tag, following in zip(tags, [*tags[1:], None], strict=True):
            piece = text[tag.end() : following.start() if following else None]
            self._begun[tag[1]] = self._begun.get(tag[1], tag.group()) + piece
        return rank_line(self._begun.pop(tags[-1][1]))


class LauncherOutput:
    """The standard output and the standard error of a launcher, separate, each in its order.

    Attributes:
        reader_gone: Whether our output is closed: a closed terminal, or `… | head` that has ended.
    """

    def __init__(self, launcher: subprocess.Popen[bytes], *, hides_traceback: bool = False) -> None:
        """Read the two pipes of a launcher from now on."""
        self.reader_gone = False
        self._hides_traceback = hides_traceback
        self._traceback: list[str] = []
        self._last_lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self._selector = selectors.DefaultSelector()
        for pipe, target in ((launcher.stdout, sys.stdout), (launcher.stderr, sys.stderr)):
            assert pipe is not None, "the launcher was started without pipes"
            target.flush()
            self._selector.register(pipe, selectors.EVENT_READ, (RankLines(), target))

    @property
    def last_lines(self) -> str:
        """The last lines of standard error that the launcher itself, not a rank, wrote."""
        return "\n".join(self._last_lines)

    def forward(self, seconds: float) -> bool:
        """Wait for output at most so long, forward it, and return whether there was some."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            lines, target = key.data
            data = os.read(key.fd, _CHUNK_BYTES)
            self._write(list(lines.feed(data)), target)
            if not data:
                self._close(key)
        return bool(ready)

    def finish(self) -> None:
        """Forward the rest after every process that could write has ended."""
        while self._selector.get_map() and self.forward(0):
            pass
        for key in list(self._selector.get_map().values()):
            self._close(key)
        self._selector.close()
        if not any(_RANK_FAILED in line for line in self._traceback):
            self._print(self._traceback, sys.stderr)

    def _close(self, key: selectors.SelectorKey) -> None:
        lines, target = key.data
        self._write(list(lines.end()), target)
        self._selector.unregister(key.fileobj)
        cast(IO[bytes], key.fileobj).close()

    def _write(self, lines: list[str], target: TextIO) -> None:
        if target is sys.stderr:
            self._last_lines.extend(line for line in lines if not line.startswith("rank "))
            lines = [line for line in lines if not self._holds_back(line)]
        self._print(lines, target)

    def _holds_back(self, line: str) -> bool:
        """Keep torchrun's traceback, with which it ends: its last lines say whether a rank has failed."""
        begins = self._hides_traceback and line == _TRACEBACK
        if line.startswith("rank ") or not (begins or self._traceback):
            return False
        if begins:
            # Not the one before: torchrun has not ended with it.
            self._print(self._traceback, sys.stderr)
            self._traceback = []
        self._traceback.append(line)
        return True

    def _print(self, lines: list[str], target: TextIO) -> None:
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
            # Another process of the terminal, such as Node.js, set it to non-blocking.
            select.select([], [descriptor], [])
