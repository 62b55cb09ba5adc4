"""The output of the ranks: forwarded unchanged and at once, and read for what the user would look for in it.

That is the network of the ranks, the reason of a failure, and whether ranks that restart repeat their training.
"""

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from training.pods import failure_reason, first_process
from training.pods.network_line import NetworkWatch
from training.pods.repeated_training import Starts

_PART = 65536
_PAUSE_MILLISECONDS = 500

# The part of standard error that is kept for the reason; mpirun and horovodrun print their own lines after the ranks'.
_KEPT = 16384

# Processes of ssh may keep the pipe open after mpirun's end.
_DRAIN_SECONDS = 5.0


@dataclass(slots=True)
class _Stream:
    """One stream of the ranks."""

    source: int
    target: int
    open: bool = True
    line: bytes = b""
    """The end of an unfinished line, as far as the last part had it."""


@dataclass(slots=True)
class RanksOutput:
    """The two streams of a launch command, from its start to its end.

    Attributes:
        starts: Reads both streams.
        network: Reads the standard output; None where the network is not of interest.
        when_not_efa: Called, again and again, where something else than the requested EFA carries the gradients.
        ends: The file descriptors that the command writes to.
    """

    starts: Starts
    network: NetworkWatch | None = None
    when_not_efa: Callable[[], None] = lambda: None
    ends: tuple[int, int] = field(init=False)
    _streams: tuple[_Stream, _Stream] = field(init=False)
    _kept: bytes = field(default=b"", init=False)
    _printed: bool = field(default=False, init=False)
    _waiting: list[str] = field(default_factory=list, init=False)
    _unwatched: bool = field(default=False, init=False)
    _deadline: float | None = field(default=None, init=False)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        """Open the pipes."""
        sys.stdout.flush()
        sys.stderr.flush()
        (out, out_end), (errors, errors_end) = os.pipe(), os.pipe()
        self.ends = (out_end, errors_end)
        self._streams = (_Stream(out, sys.stdout.fileno()), _Stream(errors, sys.stderr.fileno()))
        self._thread = threading.Thread(target=self._forward, name="ranks-output", daemon=True)

    def start(self) -> None:
        """Forward from now on; call it when the command has the ends of the pipes."""
        for end in self.ends:
            os.close(end)
        with first_process.signals_blocked():
            self._thread.start()

    def finish(self) -> None:
        """Forward the rest after the command's end."""
        self._deadline = time.monotonic() + _DRAIN_SECONDS
        self._thread.join()

    @property
    def code_of_a_rank(self) -> int | None:
        """The exit code of the first rank that failed, where the launch command prints one."""
        return failure_reason.code_of_a_rank(self._text)

    @property
    def message(self) -> str:
        """The last error that a rank printed; empty if none did."""
        return failure_reason.message(self._text)

    @property
    def _text(self) -> str:
        return self._kept.decode(errors="replace").replace("\r", "")

    def _forward(self) -> None:
        poll = select.poll()
        by_source = {stream.source: stream for stream in self._streams}
        for source in by_source:
            poll.register(source, select.POLLIN)
        while any(stream.open for stream in self._streams) and not self._late():
            for source, _ in poll.poll(_PAUSE_MILLISECONDS):
                if not self._forward_part(by_source[source]):
                    poll.unregister(source)
                    # The command then gets SIGPIPE, as it would without this process.
                    os.close(source)
            self._watch(self._decide)
        self._watch(lambda: self._decide(ended=True))
        for stream in self._streams:
            if stream.open:
                os.close(stream.source)

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _forward_part(self, stream: _Stream) -> bool:
        """Forward the output so far; return whether more may come."""
        part = os.read(stream.source, _PART)
        stream.open = bool(part) and _write(stream.target, part)
        if stream.open:
            stream.line = part.rpartition(b"\n")[2]
            if stream is self._streams[1]:
                self._kept = (self._kept + part)[-_KEPT:]
            self._watch(lambda: self._read(stream, part))
        return stream.open

    def _read(self, stream: _Stream, part: bytes) -> None:
        self.starts.read(part, stream.target)
        if self.network and stream is self._streams[0]:
            self.network.read(part)

    def _watch(self, action: Callable[[], None]) -> None:
        """Do a part of reading; its errors must not end this thread, or the ranks block on a full pipe."""
        if self._unwatched:
            return
        try:
            action()
        except Exception as error:
            self._unwatched = True
            _write(
                self._streams[1].target,
                f"error: the output of the ranks is no longer read, only forwarded: {error!r}\n".encode(),
            )

    def _decide(self, *, ended: bool = False) -> None:
        if line := self.starts.line():
            self._waiting.append(line)
        if self.network:
            self.network.decide(ended=ended)
            if self.network.line is not None and not self._printed:
                self._printed = True
                self._waiting.append(self.network.line)
        not_efa = self.network is not None and self.network.not_efa
        self._print_waiting(at_once=not_efa)
        if not_efa and not ended:
            self.when_not_efa()

    def _print_waiting(self, *, at_once: bool) -> None:
        out = self._streams[0]
        # Not within a line of the ranks; but a progress bar stays one for a long time, and an end needs its reason.
        if self._waiting and (not out.line or b"\r" in out.line or at_once or not out.open):
            lines = "".join(f"{line}\n" for line in self._waiting)
            self._waiting.clear()
            _write(out.target, b"\n" * bool(out.line) + lines.encode())


def _write(target: int, part: bytes) -> bool:
    """Write all bytes; return whether the other end still reads."""
    while part:
        try:
            part = part[os.write(target, part) :]
        except BlockingIOError:
            # Another process that has this file made it non-blocking: the reader is slow, not gone.
            select.select([], [target], [])
        except OSError:
            return False
    return True
