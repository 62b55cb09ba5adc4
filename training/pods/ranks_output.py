"""The output of the ranks: forwarded unchanged and at once, and read for the network and the reason of a failure."""

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from training.pods import failure_reason, first_process
from training.pods.network_line import NetworkWatch

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
        network: Reads the standard output.
        when_not_efa: Called, again and again, where something else than the requested EFA carries the gradients.
        ends: The file descriptors that the command writes to.
    """

    network: NetworkWatch
    when_not_efa: Callable[[], None]
    ends: tuple[int, int] = field(init=False)
    _streams: tuple[_Stream, _Stream] = field(init=False)
    _kept: bytes = field(default=b"", init=False)
    _printed: bool = field(default=False, init=False)
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
            if stream is self._streams[0]:
                self._watch(lambda: self.network.read(part))
            else:
                self._kept = (self._kept + part)[-_KEPT:]
        return stream.open

    def _watch(self, action: Callable[[], None]) -> None:
        """Do a part of reading the network; its errors must not end this thread, or the ranks block on a full pipe."""
        if self._unwatched:
            return
        try:
            action()
        except Exception as error:
            self._unwatched = True
            _write(self._streams[1].target, f"error: the network of the ranks is not known: {error!r}\n".encode())

    def _decide(self, *, ended: bool = False) -> None:
        self.network.decide(ended=ended)
        self._print_network()
        if self.network.not_efa and not ended:
            self.when_not_efa()

    def _print_network(self) -> None:
        if self.network.line is None or self._printed:
            return
        out = self._streams[0]
        # Not within a line of the ranks; but a progress bar stays one for a long time, and an end needs its reason.
        if not out.line or b"\r" in out.line or self.network.not_efa or not out.open:
            self._printed = True
            _write(out.target, b"\n" * bool(out.line) + f"{self.network.line}\n".encode())


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
