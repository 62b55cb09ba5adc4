"""The report of a results folder: a table with a row for each repetition, the summary as JSON, Markdown, charts."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from training_workloads.bench.cells import values_text
from training_workloads.bench.results_folder import ResultsFolder, write_atomically
from training_workloads.bench.summary import FIGURES, CellSummary, figures, summarize
from training_workloads.validation import InputError

__all__ = ["write_report"]

_NOTES = (
    "Figures are medians of the repetitions. Steady: steps after the warm-up, without evaluation and checkpoints;",
    "wall clock: with start, evaluation and checkpoints. Efficiency: the speed of a rank, divided by that of a",
    "rank in the smallest run with the same other values; the chart of the step compares with the same run. Plan: by",
    "`trainctl plan`, not measured. Published: the same model and precision on as many of the same GPUs, by other",
    "programs.",
)

_Column = tuple[str, Callable[[CellSummary], str]]


def write_report(folder: ResultsFolder, note: Callable[[str], None]) -> Path:
    """Write repetitions.csv, summary.json, the charts and report.md into a results folder; return the last one.

    `note` takes a line that says why there are no charts, if matplotlib is missing.

    Raises:
        InputError: The folder has no cells.
    """
    cells = summarize(folder)
    charts = _charts(cells, note)
    for name, picture in charts.items():
        write_atomically(folder.path / f"{name}.svg", picture.decode())
    write_atomically(folder.path / "repetitions.csv", _rows(folder))
    write_atomically(folder.path / "summary.json", json.dumps([asdict(each) for each in cells], indent=2) + "\n")
    report = folder.path / "report.md"
    write_atomically(report, _markdown(cells, list(charts)))
    return report


def _charts(cells: Sequence[CellSummary], note: Callable[[str], None]) -> dict[str, bytes]:
    """Return the pictures by their names; none without matplotlib, as the rest of the report needs no library."""
    try:
        from training_workloads.bench.charts import charts
    except InputError as missing:
        note(f"the report has no charts: {missing}")
        return {}
    return dict(charts(cells))


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
