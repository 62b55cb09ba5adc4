"""The summary of a results folder, and the comparison of two: whether the second one is slower, cell by cell.

A summary has medians of each cell, efficiency, the plan's prediction and published speeds.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from training_workloads.bench.cells import values_text
from training_workloads.bench.results_folder import FINISHED, ResultsFolder
from training_workloads.validation import InputError, Problem

__all__ = [
    "FIGURES",
    "CellSummary",
    "ComparedCell",
    "compare",
    "figures",
    "medians",
    "scaling_efficiency",
    "summarize",
    "values_key",
]

#: The figures of a repetition, by their place in its results.
FIGURES: Final[Mapping[str, tuple[str, ...]]] = {
    "images_per_second": ("images_per_second",),
    "wall_images_per_second": ("wall_images_per_second",),
    "wall_seconds": ("wall_seconds",),
    "step_milliseconds_p50": ("step_milliseconds", "p50"),
    "step_milliseconds_p99": ("step_milliseconds", "p99"),
    "data_wait_share": ("data_wait_share",),
    "global_batch_size": ("global_batch_size",),
    "bus_bandwidth": ("bus_bandwidth",),
}

# A cell with its records.
_Measured = tuple[dict[str, Any], list[dict[str, Any]]]

# The axes that state the size of a run.
_SIZES = ("nodes", "workers", "ranks")


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSummary:
    """One cell.

    Attributes:
        cell: Its name.
        values: The recipe, and its value of each axis.
        instance_type: EC2's name; empty for a run on this machine.
        nodes: Nodes.
        ranks: Ranks, and so GPUs of a cluster.
        repetitions: Finished repetitions.
        figures: The medians of their figures.
        usd: Dollars of one of them, the median.
        efficiency: Speed of a rank, divided by that of a rank in the smallest run of the same kind; None with one
            size.
        predicted: Images/s of the plan; None where it knows nothing.
        published: Speeds of the same model in the same precision on as many of the same GPUs, by the name of the run;
            of an NCCL test the bandwidth.
        bandwidths: Bytes and GB/s of an NCCL test, of its last repetition.
        failures: Why repetitions failed.
        networks: What carried the traffic of the ranks.
        machines: Where a local run was measured.
    """

    cell: str
    values: Mapping[str, Any]
    instance_type: str
    nodes: int
    ranks: int
    repetitions: int
    figures: Mapping[str, float]
    usd: float
    efficiency: float | None
    predicted: float | None
    published: Mapping[str, float]
    bandwidths: Sequence[tuple[int, float]] = ()
    failures: Sequence[str] = ()
    networks: Sequence[str] = ()
    machines: Sequence[str] = field(default=())

    @property
    def kind(self) -> tuple[tuple[str, Any], ...]:
        """Its values but for its size: cells of one kind are points of one line."""
        return _kind(self.values)

    @property
    def kind_title(self) -> str:
        """The same as text."""
        return values_text(dict(self.kind))


def values_key(values: Mapping[str, Any]) -> str:
    """Return the key that two cells with the same values have in common, whatever their order."""
    return str(sorted((name, str(value)) for name, value in values.items()))


def figures(results: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of one repetition that its results have."""
    if waits := results.get("data_wait_share_per_rank"):
        # results.json has the wait of each rank; the line in a log has the longest one alone.
        results = {**results, "data_wait_share": max(waits)}
    found = {name: _value(results, path) for name, path in FIGURES.items()}
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def medians(repetitions: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the median of each figure over the repetitions that have it."""
    names = [name for name in FIGURES if any(name in each for each in repetitions)]
    return {name: statistics.median([each[name] for each in repetitions if name in each]) for name in names}


def scaling_efficiency(speed: float, ranks: int, smallest_speed: float, smallest_ranks: int) -> float:
    """Return the share of the speed that as many ranks would have if each were as fast as in the smallest run."""
    return speed / (smallest_speed * ranks / smallest_ranks)


def summarize(folder: ResultsFolder) -> list[CellSummary]:
    """Return the summary of each cell of a results folder, the smallest first.

    Raises:
        InputError: The folder has no cells.
    """
    measured = _latest(folder.measured())
    speeds: dict[Any, list[tuple[int, float]]] = {}
    for cell, records in measured:
        if speed := _medians_of(records).get("images_per_second"):
            speeds.setdefault(_kind(cell["values"]), []).append((cell["ranks"], speed))
    found = [_summary(cell, records, speeds.get(_kind(cell["values"]), [])) for cell, records in measured]
    return sorted(found, key=lambda each: (each.instance_type, str(each.kind), each.ranks))


def _latest(measured: Sequence[_Measured]) -> list[_Measured]:
    """Return the cells without those that others replace: with the same type and values, run by a later sweep.

    They differ in something other than the axes, such as an image, so that their rows of a report would look the same.
    """
    # A cell that has not run yet replaces none.
    in_order = sorted(measured, key=lambda each: (bool(each[1]), float(each[0].get("swept", 0.0))))
    return list({(each[0]["instance_type"], values_key(each[0]["values"])): each for each in in_order}.values())


def _summary(cell: dict[str, Any], records: Sequence[dict[str, Any]], alike: list[tuple[int, float]]) -> CellSummary:
    finished = [each for each in records if each["state"] == FINISHED]
    found = _medians_of(records)
    bandwidths = finished[-1]["results"].get("bandwidths", {}) if finished else {}
    return CellSummary(
        cell=cell["cell"],
        values=cell["values"],
        instance_type=cell["instance_type"],
        nodes=cell["nodes"],
        ranks=cell["ranks"],
        repetitions=len(finished),
        figures=found,
        usd=statistics.median([each["usd"] for each in finished]) if finished else 0.0,
        efficiency=_efficiency(found.get("images_per_second"), cell["ranks"], alike),
        predicted=cell.get("predicted"),
        published=cell.get("published") or {},
        bandwidths=[(int(size), value) for size, value in bandwidths.items()],
        failures=[str(each.get("reason") or each["state"]) for each in records if each["state"] != FINISHED],
        networks=_distinct("network", finished),
        machines=_distinct("machine", finished),
    )


def _efficiency(speed: float | None, ranks: int, alike: Sequence[tuple[int, float]]) -> float | None:
    """Return the efficiency against the smallest of the runs of a kind; None with one size, which would be 100 %."""
    if not speed or len({each for each, _ in alike}) < 2:
        return None
    smallest_ranks, smallest_speed = min(alike)
    return scaling_efficiency(speed, ranks, smallest_speed, smallest_ranks)


def _distinct(name: str, records: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({each[name] for each in records if each.get(name)})


def _medians_of(records: Sequence[dict[str, Any]]) -> dict[str, float]:
    return medians([figures(each["results"]) for each in records if each["state"] == FINISHED])


def _kind(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in values.items() if name not in _SIZES)


def _value(results: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        results = results.get(key) if isinstance(results, dict) else None
    return results


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
