"""One start of a program: its lines and losses as they are printed, and its processes."""

import contextlib
import multiprocessing
import os
import re
import selectors
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import psutil

from training_workloads.resume_test.launched import Launch, launch, output_of, process_of
from training_workloads.resume_test.printed_losses import Loss, LossReader

__all__ = ["ObservedStart"]

# Variables in which the launchers give a process its rank.
_RANKS = ("OMPI_COMM_WORLD_RANK", "RANK", "HOROVOD_RANK")
_LAUNCHERS = ("mpirun", "prterun", "torchrun", "horovodrun")
_CHUNK_BYTES = 65536

# The end of a line, or of what the next drawing of a bar replaces.
_END = re.compile(rb"\r?\n|\r(?=[^\n])", re.DOTALL)

# How long all processes may take to end after SIGTERM: run-local takes 10 s at most.
_END_SECONDS = 30.0


class ObservedStart:
    """A start of a program that runs, or has ended.

    Attributes:
        lines: Its lines so far, each with its rank.
        losses: Its losses so far, with the time of each in seconds after the start.
    """

    def __init__(self, wanted: Launch, log: Path) -> None:
        """Start it, and write its lines into a log."""
        self.lines: list[str] = []
        self.losses: list[tuple[float, Loss]] = []
        self._losses_of_lines = LossReader()
        self._ranks = wanted.ranks
        self._folder = TemporaryDirectory(prefix="ranks-")
        self._pipes = Path(self._folder.name)
        outputs: dict[int, str] = {}
        for rank in range(wanted.ranks):
            path = output_of(rank, self._pipes)
            os.mkfifo(path)
            # For reading and writing: it waits for no writer, and does not end with one.
            outputs[os.open(path, os.O_RDWR | os.O_NONBLOCK)] = f"rank {rank:>2} | "
        receiver, sender = multiprocessing.Pipe(duplex=False)
        self._began, self._ended = time.monotonic(), 0.0
        self._process = launch(wanted, self._pipes, sender)
        sender.close()
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, args=(receiver, outputs, log), daemon=True)
        self._reader.start()

    def _read(self, receiver: Connection, outputs: dict[int, str], log: Path) -> None:
        """Read the output of the launcher to its end, and meanwhile that of the ranks."""
        rests = dict.fromkeys((receiver.fileno(), *outputs), b"")
        with log.open("w") as file, selectors.DefaultSelector() as selector:
            for number in rests:
                selector.register(number, selectors.EVENT_READ)
            is_open = True
            while (ready := selector.select(None if is_open else 0)) or is_open:
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK_BYTES)
                    if not data:
                        is_open = False
                        selector.unregister(key.fd)
                    rests[key.fd] = self._take(rests[key.fd] + data, outputs.get(key.fd, ""), file)
            for number, rest in rests.items():
                # What a killed process has begun to write: no number of it counts.
                self._take(rest + b"\r\0" * bool(rest), outputs.get(number, ""), file)
        for number in outputs:
            os.close(number)
        receiver.close()
        with self._changed:
            self._ended = time.monotonic()
            self._changed.notify_all()

    def _take(self, data: bytes, rank: str, file: IO[str]) -> bytes:
        """Take the complete lines and drawings, and return the rest."""
        begin = 0
        for end in _END.finditer(data):
            line = rank + data[begin : end.start()].decode(errors="replace")
            begin = end.end()
            file.write(f"{line}\n")
            redrawn = "\r" * (end[0] == b"\r")
            now = time.monotonic() - self._began
            found = [(now, loss) for loss in self._losses_of_lines.read(line + redrawn)]
            with self._changed:
                self.lines.append(line)
                self.losses += found
                self._changed.notify_all()
        file.flush()
        return data[begin:]

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode if self._ended else None

    @property
    def seconds(self) -> float:
        """Seconds since its start, to its end if it has ended."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def first_loss(self) -> float | None:
        """When it printed its first loss, in seconds after its start."""
        return next((when for when, loss in self.losses if loss.is_loss), None)

    def wait(self, seconds: float | None) -> bool:
        """Wait for its end for so many seconds, and return whether it has ended."""
        return self.wait_for(lambda: False, seconds) is None

    def wait_for(self, condition: Callable[[], bool], seconds: float | None) -> bool | None:
        """Wait until a condition on its losses is true, and return whether it is; None if the start has ended."""
        with self._changed:
            became = self._changed.wait_for(lambda: bool(self._ended) or condition(), seconds)
        if self._ended:
            self._process.join()
            return None
        return became

    @property
    def has_ranks(self) -> bool:
        """Whether the launcher has started every rank."""
        return all(self.rank(number) for number in range(self._ranks))

    def rank(self, number: int) -> psutil.Process | None:
        """Return the process of a rank; None where it has not started, or has ended."""
        known = process_of(number, self._pipes)
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if process.pid == known if known else _rank_of(process) == str(number):
                    return process
        return None

    def launcher(self) -> psutil.Process | None:
        """Return the process of mpirun or torchrun."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if any(Path(word).name in _LAUNCHERS for word in process.cmdline()[:2]):
                    return process
        return None

    def processes(self) -> list[psutil.Process]:
        """Return the launcher, the ranks, and what they have started."""
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def end(self) -> None:
        """End every process of it: `run-local` does on SIGTERM."""
        if not self._ended:
            self._process.terminate()
            if not self.wait(_END_SECONDS):
                self._process.kill()
        self._reader.join()
        self._process.join()
        self._folder.cleanup()


def _rank_of(process: psutil.Process) -> str | None:
    variables = process.environ()
    return next((variables[name] for name in _RANKS if name in variables), None)
