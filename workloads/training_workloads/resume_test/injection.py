"""Wait for the moment of a disturbance, and inject it into a start."""

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psutil

from training_workloads.resume_test.disturbances import Disturbance, Kind, Moment
from training_workloads.resume_test.observed_start import ObservedStart
from training_workloads.resume_test.training_order import TrainingOrder

__all__ = ["Undisturbed", "inject", "kill", "reaches"]

_PAUSE_SECONDS = 0.001

# How long the others wait for a rank that answers no more, before all are ended.
_LOST_SECONDS = 0.5

# After that part of the training a program that has written no file is disturbed all the same.
_WITHOUT_FILES = 1 / 3

# A small file is complete soon after its first byte, and the next steps of a save follow.
_OF_A_SAVE_SECONDS = 0.01

# Lines that a program adds to a log are no checkpoint.
_LOGS = (".csv", ".jsonl", ".log", ".txt")


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """The knowledge of a program that its undisturbed life gives.

    Attributes:
        order: The places of its training.
        first_loss: Seconds from its start to its first loss.
        seconds: Seconds from its first loss to its end.
        limit: Seconds after which a start counts as one that hangs.
        silence: Seconds without a loss after which one that was asked to stop hangs.
        folders: The folders into which it wrote, by their paths inside that of the life.
    """

    order: TrainingOrder
    first_loss: float
    seconds: float
    limit: float
    silence: float
    folders: frozenset[Path]

    @cached_property
    def ends(self) -> list[int]:
        """The numbers of the last places of epochs; that of the training where they are not known."""
        return self.order.last_of_epochs or [len(self.order) - 1]

    def place(self, disturbance: Disturbance) -> int:
        """Return the number of the place from which on a disturbance may come."""
        number = int(disturbance.share * len(self.order))
        if disturbance.moment == Moment.END_OF_AN_EPOCH:
            return next((end for end in self.ends if end >= number), self.ends[-1])
        return number

    def reached(self, start: ObservedStart) -> int:
        """Return the number of the last place that a start has printed; -1 without one."""
        last = next((loss.place for _, loss in reversed(start.losses) if loss.is_loss), None)
        return -1 if last is None else self.order.number(last)

    def is_last(self, start: ObservedStart) -> bool:
        """Return whether a start has come to the last place."""
        return self.reached(start) == len(self.order) - 1


def reaches(start: ObservedStart, disturbance: Disturbance, known: Undisturbed, folder: Path) -> bool:
    """Wait for the moment of a disturbance, and return whether the program still runs then."""
    if disturbance.moment == Moment.BEFORE_THE_FIRST_STEP:
        while not start.has_ranks and start.code is None:
            time.sleep(_PAUSE_SECONDS)
        return start.wait_for(lambda: bool(start.losses), disturbance.part * known.first_loss) is not None
    number = known.place(disturbance)
    if not start.wait_for(lambda: known.reached(start) >= number, known.limit):
        return False
    if disturbance.moment == Moment.WHILE_WRITING:
        return _writes(start, known, folder) and not start.wait(disturbance.part * _OF_A_SAVE_SECONDS)
    return not start.wait(disturbance.part * known.order.seconds_after(number))


def inject(start: ObservedStart, disturbance: Disturbance, stop: signal.Signals) -> bool:
    """Disturb a start, and return whether there was the process to disturb."""
    match disturbance.kind:
        case Kind.RANK_KILLED:
            return _send(start.rank(disturbance.rank), signal.SIGKILL)
        case Kind.RANK_STOPPED:
            return _send(start.rank(disturbance.rank), signal.SIGTERM)
        case Kind.LAUNCHER_KILLED:
            return _send(start.launcher(), signal.SIGKILL)
        case Kind.STOP:
            return _send(start.launcher(), stop)
        case Kind.RANK_LOST:
            if not _send(start.rank(disturbance.rank), signal.SIGSTOP):
                return False
            start.wait(_LOST_SECONDS)
    return kill(start)


def kill(start: ObservedStart) -> bool:
    """Kill every process of a start: a launcher that is still there would end its ranks in order."""
    return any([_send(process, signal.SIGKILL) for process in start.processes()])


def _send(process: psutil.Process | None, number: signal.Signals) -> bool:
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
            return True
    return False


def _writes(start: ObservedStart, known: Undisturbed, folder: Path) -> bool:
    """Wait until a file of the program changes, and return whether it still runs then."""
    before = _files(folder, known)
    far, deadline = known.reached(start) + _WITHOUT_FILES * len(known.order), time.monotonic() + known.limit
    while start.code is None and time.monotonic() < deadline:
        if _files(folder, known) != before or known.reached(start) > far:
            return True
        time.sleep(_PAUSE_SECONDS)
    return False


def _files(folder: Path, known: Undisturbed) -> Mapping[str, tuple[int, int]]:
    found = {}
    for each in known.folders:
        with contextlib.suppress(OSError), os.scandir(folder / each) as entries:
            for entry in entries:
                if not entry.name.endswith(_LOGS) and "tfevents" not in entry.name:
                    # What another process removes meanwhile is not there.
                    with contextlib.suppress(OSError):
                        found[entry.path] = (entry.stat().st_size, entry.stat().st_mtime_ns)
    return found
