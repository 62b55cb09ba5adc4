"""The charts of a report: speed, efficiency and cost over the ranks, bandwidths, and the parts of a step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from training_workloads.bench.cells import values_text
from training_workloads.bench.summary import CellSummary
from training_workloads.catalog.all_reduce_curves import EFA_PAIRS
from training_workloads.planning.chart import COLORS, PREDICTED, PUBLISHED, Bar, Line, bar_chart, line_chart

__all__ = ["StepSplit", "charts", "step_splits"]

_MEASURED = ("images_per_second", "global_batch_size", "data_wait_share")
_PARTS = ("computation, as in the smallest run", "beyond it, for other ranks", "wait for images")

_Kind = tuple[tuple[str, Any], ...]


def charts(cells: Sequence[CellSummary]) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each chart for which something was measured, and its picture."""
    speed = _lines(cells, lambda each: each.figures.get("images_per_second"))
    if speed:
        ideal = list(_ideal(speed))
        title = f"Steady throughput{'; ideal scaling is dashed' if ideal else ''}"
        yield "throughput", line_chart(title, "ranks", "images/s", [*speed, *ideal, *_beside(cells)])
    if splits := step_splits(cells):
        yield "step", _step_chart(splits)
    if shares := _lines(cells, lambda each: each.efficiency and 100 * each.efficiency):
        yield "efficiency", line_chart("Efficiency", "ranks", "%", shares)
    if costs := _lines(cells, lambda each: each.usd):
        yield "cost", line_chart("Cost of a run", "ranks", "$", costs)
    names = _line_names(cells)
    curves = [(each, [(size / 1024, value) for size, value in each.bandwidths if value > 0]) for each in cells]
    if found := [
        Line(name=f"{names[each.kind]}, {each.ranks} GPUs", points=points) for each, points in curves if points
    ]:
        yield "bandwidth", line_chart("Bus bandwidth", "KiB", "GB/s", [*found, *_published_curves(cells)])


def _published_curves(cells: Sequence[CellSummary]) -> Iterator[Line]:
    for name in dict.fromkeys(each.instance_type for each in cells if each.bandwidths and each.published):
        pairs = [each for each in EFA_PAIRS if each.instance_type == name]
        if points := [(each.message_bytes / 1024, each.bus_gigabytes) for each in pairs]:
            yield Line(name=f"published, 2 x {name}", points=points, dashed=True, color=PUBLISHED)


def _line_names(cells: Sequence[CellSummary]) -> dict[_Kind, str]:
    """Return the name of each kind of cell: the values that not all kinds have."""
    kinds = list(dict.fromkeys(each.kind for each in cells))
    common = set.intersection(*map(set, kinds)) if len(kinds) > 1 else set()
    return {kind: values_text(dict(pair for pair in kind if pair not in common)) for kind in kinds}


def _lines(cells: Sequence[CellSummary], value: Callable[[CellSummary], float | None]) -> list[Line]:
    """Return a line for each kind of cell."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    names = _line_names(cells)
    for each in cells:
        if (found := value(each)) and found > 0:
            kinds.setdefault(names[each.kind], []).append((each.ranks, found))
    return [Line(name=name, points=points) for name, points in kinds.items()]


def _ideal(speed: Sequence[Line]) -> Iterator[Line]:
    """Yield the line of a speed that grows as the ranks do, from the smallest run of each kind that has several."""
    for line, color in zip(speed, cycle(COLORS), strict=False):
        ranks, smallest = line.points[0]
        if len(line.points) > 1:
            points = [(each, each * smallest / ranks) for each, _ in line.points]
            yield Line(name="", points=points, dashed=True, color=color)


def _beside(cells: Sequence[CellSummary]) -> list[Line]:
    """Return the marks of the plan's predictions and of the published speeds."""
    predicted = sorted({(each.ranks, each.predicted) for each in cells if each.predicted})
    published = sorted({(each.ranks, value) for each in cells for value in each.published.values() if each.predicted})
    marks = [("plan", predicted, PREDICTED), ("published", published, PUBLISHED)]
    return [Line(name=name, points=points, marks=True, color=color) for name, points, color in marks if points]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepSplit:
    """The parts of a cell's mean step, in milliseconds.

    Attributes:
        title: The values of the cell.
        kind: Those values without the size.
        computation: Step of the smallest run of the same kind, without its wait for images.
        other_ranks: The rest of this step: all-reduce that nothing hides, and slower ranks.
        images: The wait for images of the rank that waits longest.
    """

    title: str
    kind: str
    computation: float
    other_ranks: float
    images: float

    @property
    def total(self) -> float:
        """The whole step."""
        return self.computation + self.other_ranks + self.images


def step_splits(cells: Sequence[CellSummary]) -> list[StepSplit]:
    """Return the split of each cell that has measured it, of summaries with the smallest of each kind first.

    Cells of a kind have the same images on each rank.
    """
    smallest: dict[str, float] = {}
    found = []
    for each in cells:
        speed, batch, share = (each.figures.get(name) for name in _MEASURED)
        if not speed or not batch or share is None:
            continue
        step = 1000 * batch / speed
        busy = step * (1 - share)
        computation = min(busy, smallest.setdefault(each.kind_title, busy))
        split = StepSplit(
            title=values_text(each.values),
            kind=each.kind_title,
            computation=computation,
            other_ranks=busy - computation,
            images=step - busy,
        )
        found.append(split)
    return found


def _step_chart(splits: Sequence[StepSplit]) -> bytes:
    longest: dict[str, float] = {}
    for each in splits:
        longest[each.kind] = max(each.total, longest.get(each.kind, 0.0))
    bars = [
        Bar(
            title=each.title,
            total=f"{each.total:,.4g} ms",
            shares=[part / longest[each.kind] for part in (each.computation, each.other_ranks, each.images)],
        )
        for each in splits
    ]
    return bar_chart("Mean step, to the scale of each kind of run", _PARTS, bars)
