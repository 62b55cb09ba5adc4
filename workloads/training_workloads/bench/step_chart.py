"""Where the time of a step goes, as far as runs measure it: bars of the computation, other ranks, and late images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training_workloads.bench.bench_summary import CellSummary
from training_workloads.bench.cells import values_text
from training_workloads.planning.line_chart import COLORS, WIDTH, Box, Label, Shape, svg_picture

__all__ = ["StepSplit", "step_chart", "step_splits"]

_LEFT, _RIGHT, _TOP, _ROW, _BAR = 40, 130, 80, 46, 20
_MEASURED = ("images_per_second", "global_batch_size", "data_wait_share")
_PARTS = ("computation, as in the smallest run", "beyond it, for other ranks", "wait for images")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepSplit:
    """The parts of a cell's mean step, in milliseconds.

    Attributes:
        title: The values of the cell.
        kind: Its values but for its size.
        computation: What the step of the smallest run of the same kind takes, without its wait for images.
        other_ranks: What this step takes beyond that: all-reduce that nothing hides, and slower ranks.
        images: The wait for images of the rank that waits longest.
    """

    title: str
    kind: str
    computation: float
    other_ranks: float
    images: float

    @property
    def total(self) -> float:
        """The step."""
        return self.computation + self.other_ranks + self.images


def step_splits(cells: Sequence[CellSummary]) -> list[StepSplit]:
    """Return the split of each cell that has measured it; cells of a kind have the same images on each rank.

    Args:
        cells: Summaries, the smallest of each kind first.
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


def step_chart(splits: Sequence[StepSplit]) -> str:
    """Return the bars as SVG."""
    title = "Mean step, to the scale of each kind of run"
    return svg_picture(title, _TOP + _ROW * len(splits) + 10, _shapes(title, splits))


def _shapes(title: str, splits: Sequence[StepSplit]) -> Iterator[Shape]:
    yield Label(place=(_LEFT, 28), text=title, size=16, bold=True)
    for index, name in enumerate(_PARTS):
        yield Box(place=(_LEFT + 260 * index, 42), width=12, height=12, color=COLORS[index])
        yield Label(place=(_LEFT + 260 * index + 18, 53), text=name)
    longest: dict[str, float] = {}
    for each in splits:
        longest[each.kind] = max(each.total, longest.get(each.kind, 0.0))
    for row, each in enumerate(splits):
        top, left = _TOP + _ROW * row, float(_LEFT)
        yield Label(place=(_LEFT, top + 10), text=each.title)
        for index, part in enumerate((each.computation, each.other_ranks, each.images)):
            width = part / longest[each.kind] * (WIDTH - _LEFT - _RIGHT)
            yield Box(place=(left, top + 16), width=width, height=_BAR, color=COLORS[index])
            left += width
        yield Label(place=(left + 8, top + 31), text=f"{each.total:,.4g} ms")
