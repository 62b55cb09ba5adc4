"""One start of a program by `trainctl run-local`: its lines with their times, and its processes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from training_workloads.resume_test.printed_losses import printed_losses

__all__ = ["ObservedStart"]

# Variables in which the launchers give a process its rank.
_RANKS = ("OMPI_COMM_WORLD_RANK", "RANK", "HOROVOD_RANK")
_LAUNCHERS = ("mpirun", "prterun", "torchrun", "horovodrun")
_PAUSE_SECONDS = 0.02


class ObservedStart:
    """A start of a program that runs, or has ended."""

    def __init__(self, arguments: Sequence[str], folder: Path, log: Path, variables: Mapping[str, str]) -> None:
        """Start it.

        Args:
            arguments: Those of `run-local`.
            folder: The current folder of the program.
            log: Gets all lines.
            variables: Environment variables, in addition to those of this process.
        """
        command = [sys.executable, "-m", "training_workloads", "run-local", *arguments]
        self.log = log
        self.lines: list[tuple[float, str]] = []
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        output = self._process.stdout
        assert output is not None, "it was started with a pipe"
        with output, self.log.open("w") as log:
            for line in output:
                self.lines.append((time.monotonic(), line.rstrip("\n")))
                log.write(line)
                log.flush()

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    @property
    def seconds(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self.began

    @property
    def texts(self) -> list[str]:
        """The lines so far."""
        return [text for _, text in list(self.lines)]

    @property
    def first_loss(self) -> float | None:
        """When it printed its first loss, in seconds after its start."""
        for when, text in list(self.lines):
            if any(each.is_loss for each in printed_losses([text])):
                return when - self.began
        return None

    def wait(self, seconds: float) -> bool:
        """Wait for its end for so many seconds, and return whether it has ended."""
        try:
            self._process.wait(max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            return False
        self._reader.join()
        return True

    def wait_for_loss(self, seconds: float) -> bool:
        """Wait for its first loss for so many seconds, and return whether it printed one."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and self.code is None:
            if self.first_loss is not None:
                return True
            time.sleep(_PAUSE_SECONDS)
        return self.first_loss is not None

    def rank(self, number: int) -> psutil.Process | None:
        """Return the process of a rank: the first with its number, which may have started others."""
        for process in self._descendants():
            with contextlib.suppress(psutil.Error):
                variables = process.environ()
                if next((variables[name] for name in _RANKS if name in variables), None) == str(number):
                    return process
        return None

    def launcher(self) -> psutil.Process | None:
        """Return the process of mpirun or torchrun."""
        for process in self._descendants():
            with contextlib.suppress(psutil.Error):
                if any(Path(word).name in _LAUNCHERS for word in process.cmdline()[:2]):
                    return process
        return None

    def _descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def end(self) -> None:
        """End every process of it: `run-local` does on SIGTERM."""
        if self.code is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        self._reader.join()
