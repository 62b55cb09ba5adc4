"""The most that a job may cost: its ranks get a stop request when its workers have cost that, over all its starts.

The price of a worker comes with the job. It counts from the moment when all workers answer until the end, with the
waits between two starts, in which the nodes cost too. The sum is in the file `cost.json` of the run's output folder, so
that a job that resumes the run counts on.
"""

import json
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from training.pods import first_process, remote
from training.pods.job_end import JobEnd
from training.runtime.errors import UserError
from training.runtime.files import write_atomically
from training.runtime.stop_request import STOPPED

_OUTPUT_DIR = "--output-dir"
_NAME = "cost.json"

# Without an output folder, the sum is a worker's, for the next launcher of the same job.
_TEMPORARY = '"${TMPDIR:-/tmp}"'

_PAUSE_SECONDS = 1.0
_KEEP_SECONDS = 60.0
_PRINT_SECONDS = 600.0

# A worker that is lost must not delay the others.
_ANSWER_SECONDS = 15.0

# A checkpoint takes less; a pod that ends has as long (`jobs.gpu_pods.GRACE_SECONDS`).
_GRACE_SECONDS = 100.0


def output_folder(command: Sequence[str]) -> str | None:
    """Return the output folder of a launch command; None where it has no such option."""
    for number, word in enumerate(command):
        if word.startswith(f"{_OUTPUT_DIR}="):
            return word.partition("=")[2]
        if word == _OUTPUT_DIR and number + 1 < len(command):
            return command[number + 1]
    return None


def dollars(text: str, file: object) -> float:
    """Return the sum in the text of a file; 0 without a text.

    Raises:
        JobEnd: The file holds something else.
    """
    if not text.strip():
        return 0.0
    try:
        usd = float(json.loads(text)["usd"])
    except (ValueError, TypeError, KeyError):
        usd = -1.0
    if not 0 <= usd < float("inf"):
        raise JobEnd(
            f"{file} is {text.strip()[:80]!r}, which does not say what the run has cost; write "
            '{"usd": <dollars>} into it, and submit the job again'
        )
    return usd


class CostFile(Protocol):
    """Where the sum stays."""

    def read(self, hosts: Sequence[str]) -> float:
        """Return the dollars of earlier starts; 0 where the run has none."""

    def write(self, hosts: Sequence[str], usd: float) -> None:
        """Write the sum at once, so that a process that is killed leaves this one or the one before."""


class OwnCostFile:
    """The sum in the output folder, for a process on a worker; those of the other workers write it too."""

    def __init__(self, command: Sequence[str]) -> None:
        """Read and write nothing yet."""
        self._path = Path(output_folder(command) or tempfile.gettempdir()) / _NAME

    def read(self, hosts: Sequence[str]) -> float:
        """Return the dollars of earlier starts; 0 where the run has none.

        Raises:
            JobEnd: The file holds something else.
        """
        try:
            text = self._path.read_text(errors="replace") if self._path.exists() else ""
        except OSError as error:
            self._warn("read", error)
            return 0.0
        return dollars(text, self._path)

    def write(self, hosts: Sequence[str], usd: float) -> None:
        """Write the sum, unless another worker has counted more."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # This runs while the ranks train: a damaged file ends no run that has begun.
            with suppress(JobEnd):
                usd = max(usd, self.read(hosts))
            write_atomically(self._path, _text(usd).encode())
        except OSError as error:
            self._warn("written", error)

    def _warn(self, what: str, error: OSError) -> None:
        print(f"warning: {self._path} cannot be {what}: {error.strerror}", file=sys.stderr, flush=True)


def _text(usd: float) -> str:
    return json.dumps({"usd": round(usd, 4)})


class WorkerCostFile:
    """The sum on a worker, which all workers have where the folder is on a shared file system."""

    def __init__(self, command: Sequence[str], port: int) -> None:
        """Read and write nothing yet."""
        folder = output_folder(command)
        self._folder, self._port = _TEMPORARY if folder is None else shlex.quote(folder), port
        self._file = f"{self._folder}/{_NAME}"

    def read(self, hosts: Sequence[str]) -> float:
        """Return the dollars of earlier starts; 0 where the run has none.

        Raises:
            JobEnd: The file holds something else.
        """
        return dollars(self._ask(hosts, f"if [ -e {self._file} ]; then cat {self._file}; fi"), self._file)

    def write(self, hosts: Sequence[str], usd: float) -> None:
        """Write the sum at once, so that a launcher that is killed leaves this one or the one before."""
        text = shlex.quote(_text(usd))
        partial = f"{self._file}.partial"
        self._ask(hosts, f"mkdir -p {self._folder} && echo {text} > {partial} && mv {partial} {self._file}")

    def _ask(self, hosts: Sequence[str], command: str) -> str:
        """Return the answer of the first worker that can do it; empty, with a line in the log, where none can."""
        errors = ""
        for host in hosts:
            answer = remote.run([host], self._port, command, seconds=_ANSWER_SECONDS)[host]
            if answer.code == 0:
                return answer.output
            errors = answer.errors.strip()
        print(f"warning: {self._file} can be neither read nor written: {errors}", file=sys.stderr, flush=True)
        return ""


class CostCap:
    """Counts the cost of a job, and stops its ranks at the cap."""

    def __init__(self, most: float, usd_per_hour: float, file: CostFile, hosts: Callable[[], Sequence[str]]) -> None:
        """Count nothing yet.

        Args:
            most: Dollars that the run may cost, over all its starts.
            usd_per_hour: Price of one worker.
            file: Where the sum stays.
            hosts: Returns the present workers.
        """
        self._most, self._usd_per_hour, self._file, self._hosts = most, usd_per_hour, file, hosts
        self._usd = 0.0
        self._counted: float | None = None
        self._kept = self._printed = 0.0
        self._present: Sequence[str] = ()

    @property
    def is_reached(self) -> bool:
        """Whether the run has cost as much as it may."""
        return self._usd >= self._most

    def __str__(self) -> str:
        rate = self._usd_per_hour * len(self._workers())
        return f"cost: ${self._usd:,.2f} of ${self._most:,.2f}, at ${rate:,.2f} an hour"

    def begin(self, hosts: Sequence[str]) -> None:
        """Count from now on; a later call changes nothing.

        Raises:
            JobEnd: Earlier starts of the run have cost as much as it may, or their sum cannot be understood.
        """
        if self._counted is None:
            self._usd = self._file.read(hosts)
            self._counted = self._kept = time.monotonic()
            self._print()
        self.check()

    def check(self) -> None:
        """Count until now.

        Raises:
            JobEnd: The run has cost as much as it may.
        """
        self._count()
        if self.is_reached:
            raise self.end("")

    def end(self, ranks: str) -> JobEnd:
        """Return the end of the job.

        Args:
            ranks: How its ranks ended; empty where none run.
        """
        how = f": {ranks}" if ranks else ""
        reason = f"the run has cost ${self._usd:,.2f}, and '--max-cost' is {self._most:g}{how}"
        return JobEnd(f"{reason}; to resume it, submit it with a higher one", STOPPED)

    @contextmanager
    def limit(self, stop: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
        """Watch the ranks during the block.

        Args:
            stop: Sends the ranks a stop request.
            end: Ends them; called again and again where they do not end after a stop request.
        """
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended, stop, end), name="cost-cap", daemon=True)
        with first_process.signals_blocked():
            thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._count()
            self._keep()

    def _watch(self, ended: threading.Event, stop: Callable[[], None], end: Callable[[], None]) -> None:
        while not ended.wait(_PAUSE_SECONDS):
            self._count()
            if self.is_reached:
                self._print()
                stop()
                break
            if time.monotonic() - self._kept > _KEEP_SECONDS:
                self._keep()
            if time.monotonic() - self._printed > _PRINT_SECONDS:
                self._print()
        if self.is_reached and not ended.wait(_GRACE_SECONDS):
            while not ended.wait(_PAUSE_SECONDS):
                end()

    def _workers(self) -> Sequence[str]:
        """Return the present workers; the last known ones where there is no list, as while an elastic job has none."""
        with suppress(UserError):
            self._present = self._hosts()
        return self._present

    def _count(self) -> None:
        now = time.monotonic()
        if self._counted is not None:
            self._usd += self._usd_per_hour * len(self._workers()) * (now - self._counted) / 3600
            self._counted = now

    def _keep(self) -> None:
        self._kept = time.monotonic()
        self._file.write(self._workers(), self._usd)

    def _print(self) -> None:
        self._printed = time.monotonic()
        print(self, flush=True)
