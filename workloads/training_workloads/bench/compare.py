"""Compare two results folders: whether the second one is slower than the first, cell by cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_workloads.bench.cells import values_text
from training_workloads.bench.results_folder import ResultsFolder
from training_workloads.bench.summary import CellSummary, summarize, values_key
from training_workloads.validation import InputError, Problem

__all__ = ["ComparedCell", "compare"]

# More is better of each; the first one that both cells have is compared.
_COMPARED = ("images_per_second", "bus_bandwidth")


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedCell:
    """A cell of the first folder, in both.

    Attributes:
        values: Its recipe, and its values of the axes.
        before: The figure of the first folder.
        after: That of the second one; None where it has no finished repetition of the cell.
    """

    values: Mapping[str, Any]
    before: float
    after: float | None

    def is_regression(self, margin: float) -> bool:
        """Return whether the second folder lost the cell, or is slower by more than a share of the first one."""
        return self.after is None or self.after < self.before * (1 - margin)

    def __str__(self) -> str:
        title = values_text(self.values)
        if self.after is None:
            return f"{title}: {self.before:,.6g} before, not measured after"
        return f"{title}: {self.before:,.6g} before, {self.after:,.6g} after ({self.after / self.before - 1:+.1%})"


def compare(before: ResultsFolder, after: ResultsFolder) -> list[ComparedCell]:
    """Return each measured cell of the first folder beside the one with the same values of the axes in the second.

    The values and not the hash: another image, which may be the subject of the comparison, makes another cell.

    Raises:
        InputError: A folder has no cells, or nothing in the first one was measured.
    """
    others = {values_key(each.values): each for each in summarize(after)}
    found = [compared for each in summarize(before) for compared in _compared(each, others)]
    if not found:
        allowed = "none of its repetitions is finished"
        raise InputError(Problem(path=("before",), given=str(before.path), allowed=allowed, fix="run its sweep"))
    return found


def _compared(each: CellSummary, others: Mapping[str, CellSummary]) -> Sequence[ComparedCell]:
    other = others.get(values_key(each.values))
    for name in _COMPARED:
        if value := each.figures.get(name):
            after = other.figures.get(name) if other else None
            return [ComparedCell(values=each.values, before=value, after=after)]
    return []
