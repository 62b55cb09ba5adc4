"""Run the cells of a sweep one after the other: resume, repeat, stop at the budget, and leave no job behind."""

import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from training_workloads.bench.cells import Cell
from training_workloads.bench.results_folder import FINISHED, Repetition, ResultsFolder
from training_workloads.bench.sweep import Sweep
from training_workloads.validation import InputError

__all__ = ["Outcome", "Runner", "run_sweep", "signals_end_in_order"]


# A job that hangs would use up the budget of the other cells.
_MOST_PLANNED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a job ended.

    Attributes:
        results: The content of its results; None if it failed.
        seconds: How long it ran.
        reason: Why it failed; empty if it did not.
        network: What carried the traffic of the ranks, as the launcher says it.
    """

    results: dict[str, Any] | None
    seconds: float
    reason: str = ""
    network: str = ""


class Runner(Protocol):
    """Runs jobs."""

    def clean(self, keep: Sequence[str]) -> Sequence[str]:
        """Remove the jobs of earlier starts, except those to keep, of which it returns those that exist."""

    def run(self, cell: Cell, job: str, folder: Path, seconds: float | None) -> Outcome:
        """Run a job, or wait for it if it exists, for some seconds since it began at most; remove it in any case."""


def run_sweep(
    sweep: Sweep, cells: Sequence[Cell], results: ResultsFolder, runner: Runner, note: Callable[[str], None]
) -> bool:
    """Run the repetitions that are not finished yet, and return whether every one is finished.

    This process has locked the folder of the results. `note` takes a line for each repetition.
    """
    places = [(cell, each) for cell in cells for each in results.repetitions(cell, sweep.repeats)]
    pending = [(cell, each) for cell, each in places if not each.is_finished]
    if len(pending) < len(places):
        note(f"{len(places) - len(pending)} of {len(places)} repetitions are finished already")
    adopted = _adopted(pending, runner)
    pending.sort(key=lambda place: place[1].attempt.get("job") not in adopted)
    failed = set[str]()
    for cell, each in pending:
        # A cell that failed once would cost as much again.
        if cell.name in failed:
            continue
        job = each.attempt.get("job")
        if job in adopted:
            note(f"{cell.title}: waiting for job {job!r}, which an earlier start created")
        else:
            usd = cell.usd_per_hour * _hours(sweep, [other for of, other in places if of is cell])
            if sweep.budget is not None and results.usd + usd > sweep.budget:
                note(_stopped(cell, sweep, results, usd))
                return False
            job = each.begin(results.id, usd)
        if not _measured(cell, each, str(job), sweep, results, runner, note):
            failed.add(cell.name)
    return not failed


def _adopted(pending: Sequence[tuple[Cell, Repetition]], runner: Runner) -> Sequence[str]:
    """Return the jobs that an earlier start created and that still exist; its others are removed."""
    return runner.clean([str(each.attempt["job"]) for _, each in pending if each.attempt and not each.record])


def _measured(
    cell: Cell,
    each: Repetition,
    job: str,
    sweep: Sweep,
    results: ResultsFolder,
    runner: Runner,
    note: Callable[[str], None],
) -> bool:
    """Run a job and write its record; return whether it has results."""
    # An adopted job began in an earlier start.
    began = each.attempt.get("began") or time.time()
    base = {"job": job, "began": began, "machine": cell.machine}
    try:
        outcome = runner.run(cell, job, each.folder, _most_seconds(cell, each, sweep, results))
    except InputError:
        # Rejected, so it did not run.
        each.end({**base, "state": "rejected", "usd": 0.0})
        raise
    except (KeyboardInterrupt, SystemExit):
        each.end({**base, "state": "interrupted", "usd": _usd(cell, time.time() - began)})
        raise
    state = "failed" if outcome.results is None else FINISHED
    figures = {"reason": outcome.reason, "network": outcome.network, "results": outcome.results}
    usd = _usd(cell, outcome.seconds)
    each.end({**base, "state": state, "seconds": round(outcome.seconds, 3), "usd": usd, **figures})
    cost = f", ${usd:,.2f}" if usd else ""
    note(f"{cell.title}: repetition {each.folder.name} {outcome.reason or state} after {outcome.seconds:.0f} s{cost}")
    return outcome.results is not None


def _most_seconds(cell: Cell, each: Repetition, sweep: Sweep, results: ResultsFolder) -> float | None:
    """Return how long a job may run: for the rest of the budget, and for a multiple of the planned hours."""
    if sweep.budget is None or sweep.planned_hours is None:
        return None
    planned: float = each.attempt["planned_usd"]
    left = sweep.budget - results.usd + planned
    return min(left / cell.usd_per_hour, _MOST_PLANNED * sweep.planned_hours) * 3600


def _hours(sweep: Sweep, repetitions: Sequence[Repetition]) -> float:
    """Return the hours that a job will take: as those of its cell did, or as planned."""
    records = [each.record for each in repetitions]
    seconds = [each["seconds"] for each in records if each.get("state") == FINISHED]
    return statistics.median(seconds) / 3600 if seconds else sweep.planned_hours or 0.0


def _usd(cell: Cell, seconds: float) -> float:
    return round(cell.usd_per_hour * seconds / 3600, 4)


def _stopped(cell: Cell, sweep: Sweep, results: ResultsFolder, usd: float) -> str:
    return (
        f"stopped before {cell.title}: it would cost ${usd:,.2f}, and ${results.usd:,.2f} of the budget of "
        f"${sweep.budget:,.2f} are used; raise the budget, and the same command continues"
    )


@contextmanager
def signals_end_in_order() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end this program as an exception does, so that its job is removed."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    caught = [number for number, handler in previous.items() if handler is not signal.SIG_IGN]
    for number in caught:
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, previous[number])
