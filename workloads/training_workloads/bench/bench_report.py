"""The report of a results folder: a table with a row for each repetition, the summary as JSON, and Markdown."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from typing import Any

from training_workloads.bench.bench_summary import FIGURES, CellSummary, figures, summarize
from training_workloads.bench.cells import values_text
from training_workloads.bench.results_folder import ResultsFolder, write_atomically
from training_workloads.bench.step_chart import step_chart, step_splits
from training_workloads.catalog.all_reduce_curves import EFA_PAIRS
from training_workloads.planning.line_chart import COLORS, PREDICTED, PUBLISHED, Line, line_chart

__all__ = ["write_report"]

_NOTES = (
    "Figures are medians of the repetitions. Steady: steps after the warm-up, without evaluation and checkpoints;",
    "wall clock: with start, evaluation and checkpoints. Efficiency: the speed of a rank, divided by that of a",
    "rank in the smallest run with the same other values; the chart of the step compares with the same run. Plan: by",
    "`trainctl plan`, not measured. Published: the same model and precision on as many of the same GPUs, by other",
    "programs.",
)

_Kind = tuple[tuple[str, Any], ...]
_Column = tuple[str, Callable[[CellSummary], str]]


def write_report(folder: ResultsFolder) -> Path:
    """Write repetitions.csv, summary.json, the charts and report.md into a results folder; return the last one.

    Raises:
        InputError: The folder has no cells.
    """
    cells = summarize(folder)
    charts = dict(_charts(cells))
    for name, picture in charts.items():
        write_atomically(folder.path / f"{name}.svg", picture)
    write_atomically(folder.path / "repetitions.csv", _rows(folder))
    write_atomically(folder.path / "summary.json", json.dumps([asdict(each) for each in cells], indent=2) + "\n")
    report = folder.path / "report.md"
    write_atomically(report, _markdown(cells, list(charts)))
    return report


def _rows(folder: ResultsFolder) -> str:
    """Return a row for each repetition, with a column for each axis and each figure."""
    measured = folder.measured()
    axes = list(dict.fromkeys(name for cell, _ in measured for name in cell["values"]))
    text = io.StringIO()
    columns = ["cell", "job", "state", *axes, "type", "ranks", "seconds", "usd", *FIGURES, "network", "machine"]
    # An axis may be one of the others.
    table = csv.DictWriter(text, list(dict.fromkeys(columns)), restval="", extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for cell, records in measured:
        fixed = {"cell": cell["cell"], "type": cell["instance_type"], "ranks": cell["ranks"]}
        for each in records:
            table.writerow({**each, **cell["values"], **fixed, **figures(each.get("results") or {})})
    return text.getvalue()


# -------------------------------------------------------------------------------------------------------------- text


def _markdown(cells: Sequence[CellSummary], charts: Sequence[str]) -> str:
    machines = sorted({name for each in cells for name in each.machines})
    networks = sorted({name for each in cells for name in each.networks})
    return "\n".join(
        [
            "# Benchmark",
            "",
            *(f"Machine: {name}" for name in machines),
            *(f"Network: {name}" for name in networks),
            *([""] if machines or networks else []),
            *_table(cells),
            "",
            *_NOTES,
            *(line for name in charts for line in ("", f"![{name}]({name}.svg)")),
            *_published(cells),
            *_failures(cells),
            "",
        ]
    )


def _table(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Yield a row for each cell, without the columns that no cell has."""
    columns = [(name, [value(each) for each in cells]) for name, value in _columns(cells)]
    shown = [(name, texts) for name, texts in columns if any(texts)]
    yield f"| {' | '.join(name for name, _ in shown)} |"
    yield f"|{'---|' * len(shown)}"
    for row in zip(*(texts for _, texts in shown), strict=True):
        yield f"| {' | '.join(row)} |"


def _columns(cells: Sequence[CellSummary]) -> Iterator[_Column]:
    axes = list(dict.fromkeys(name for each in cells for name in each.values))
    if "instance_type" not in axes:
        yield "type", lambda each: each.instance_type
    for name in axes:
        yield name, lambda each, name=name: str(each.values.get(name, ""))  # type: ignore[misc]
    if "ranks" not in axes:
        yield "GPUs", lambda each: str(each.ranks)
    for title, figure, form in (
        ("images/s, steady", "images_per_second", "{:,.1f}"),
        ("wall clock", "wall_images_per_second", "{:,.1f}"),
        ("median step, ms", "step_milliseconds_p50", "{:,.1f}"),
        ("waits for images", "data_wait_share", "{:.1%}"),
        ("bus GB/s", "bus_bandwidth", "{:,.2f}"),
    ):
        yield title, lambda each, figure=figure, form=form: _form(form, each.figures.get(figure))  # type: ignore[misc]
    yield "efficiency", lambda each: _form("{:.1%}", each.efficiency)
    yield "$ a run", lambda each: _form("{:,.2f}", each.usd or None)
    yield "plan", lambda each: _form("{:,.0f}", each.predicted)
    yield "published", lambda each: _range(each.published.values())
    yield "runs", lambda each: str(each.repetitions)


def _form(form: str, value: float | None) -> str:
    return "" if value is None else form.format(value)


def _range(found: Collection[float]) -> str:
    return " to ".join(f"{value:,.6g}" for value in sorted({min(found), max(found)})) if found else ""


def _published(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Yield a row for each published figure that stands beside a cell."""
    rows = dict.fromkeys((each.ranks, value, name) for each in cells for name, value in each.published.items())
    if rows:
        yield from ("", "| GPUs | published | run |", "|---|---|---|")
    for ranks, value, name in rows:
        yield f"| {ranks} | {value:,.6g} | {name} |"


def _failures(cells: Sequence[CellSummary]) -> Iterator[str]:
    failed = [(each, reason) for each in cells for reason in each.failures]
    if failed:
        yield from ("", "Without results:", "")
    for each, reason in failed:
        yield f"- {values_text(each.values)}: {reason}"


# ------------------------------------------------------------------------------------------------------------ charts


def _charts(cells: Sequence[CellSummary]) -> Iterator[tuple[str, str]]:
    """Yield the name of each chart for which something was measured, and its picture."""
    speed = _lines(cells, lambda each: each.figures.get("images_per_second"))
    if speed:
        ideal = list(_ideal(speed))
        title = f"Steady throughput{'; ideal scaling is dashed' if ideal else ''}"
        yield "throughput", line_chart(title, "ranks", "images/s", [*speed, *ideal, *_beside(cells)])
    if splits := step_splits(cells):
        yield "step", step_chart(splits)
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
    """Return what the plan predicts, and what was published."""
    predicted = sorted({(each.ranks, each.predicted) for each in cells if each.predicted})
    published = sorted({(each.ranks, value) for each in cells for value in each.published.values() if each.predicted})
    marks = [("plan", predicted, PREDICTED), ("published", published, PUBLISHED)]
    return [Line(name=name, points=points, marks=True, color=color) for name, points, color in marks if points]
