"""Charts as SVG or PNG, by matplotlib; the same values give the same bytes.

The extra `charts` installs matplotlib, whose import takes longer than the rest of a command: import this module on use.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from training_workloads.validation import MISSING, InputError, Problem

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import AutoLocator, FixedLocator, FuncFormatter, LogLocator, NullLocator
except ModuleNotFoundError as error:
    fix = "run pip install 'cdk-training-cluster[charts]'"
    raise InputError(Problem(path=(str(error.name),), given=MISSING, fix=fix)) from error

__all__ = ["COLORS", "PREDICTED", "PUBLISHED", "Bar", "Line", "bar_chart", "line_chart"]

#: Colors of lines and of the parts of bars, in their order.
COLORS = ("#c96f12", "#4c82c3", "#6aa271", "#8561b5", "#b5484a", "#2f8f8f", "#8a7a2a", "#c05a9a")

#: Colors of predictions and of published figures, beside measured lines.
PREDICTED, PUBLISHED = "#1f2933", "#7b8794"

# Inches of 100 pixels in an SVG, and of 200 in a PNG, for screens of high density.
_WIDTH, _HEIGHT, _PIXELS = 8.6, 5.2, {"svg": 100, "png": 200}
# Height of a bar with its title, and of the chart's title with the names of the parts.
_ROW, _HEAD = 0.46, 0.8
_MOST_LABELS = 10

_TEXT, _SOFT, _GRID = "#1f2933", "#52606d", "#d9dfe5"

# matplotlib types the names one by one.
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _GRID,
    "axes.grid": True,
    "axes.labelcolor": _SOFT,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.constrained_layout.h_pad": 0.1,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.1,
    "font.family": "sans-serif",
    # The first one is matplotlib's own, and as wide as any: the others are for browsers without it.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"],
    "font.size": 9,
    "grid.color": _GRID,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    # Of the values of a sweep, which may contain dollars.
    "text.parse_math": False,
    "text.color": _TEXT,
    "xtick.color": _GRID,
    "xtick.labelcolor": _TEXT,
    "ytick.color": _GRID,
    "ytick.labelcolor": _TEXT,
    # Letters stay text, and equal pictures have equal ids.
    "svg.fonttype": "none",
    "svg.hashsalt": "charts",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: Its text in the legend; empty for a line that the legend omits.
        points: Values by their place, all above 0.
        marks: Whether the points are drawn instead of a line between them, as a single one always is.
        dashed: Whether the line is an ideal or a limit.
        color: Default: that of its place among the lines.
    """

    name: str
    points: Sequence[tuple[float, float]]
    marks: bool = False
    dashed: bool = False
    color: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One bar: its title above it, its total behind it, and its parts as shares of the chart's width."""

    title: str
    total: str
    shares: Sequence[float]


def line_chart(title: str, x_name: str, y_name: str, lines: Sequence[Line], *, form: str = "svg") -> bytes:
    """Return lines over two logarithmic axes as a picture."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, _HEIGHT))
        axes = figure.subplots()
        axes.set_title(title)
        axes.set(xscale="log", yscale="log", xlabel=x_name, ylabel=y_name)
        for index, line in enumerate(lines):
            is_mark = line.marks or len(line.points) == 1
            axes.plot(
                *zip(*line.points, strict=True),
                color=line.color or COLORS[index % len(COLORS)],
                label=line.name or "_",
                linestyle="none" if is_mark else "dashed" if line.dashed else "solid",
                marker="o" if is_mark else None,
            )
        places = sorted({x for line in lines for x, _ in line.points})
        axes.xaxis.set_major_locator(FixedLocator(places[:: math.ceil(len(places) / _MOST_LABELS)]))
        axes.yaxis.set_major_locator(_RoundValues(10, subs=(1, 2, 5)))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
            axis.set_minor_locator(NullLocator())
        if any(line.name for line in lines):
            figure.legend(loc="outside lower center", ncols=2)
        return _saved(figure, title, form)


def bar_chart(title: str, parts: Sequence[str], bars: Sequence[Bar], *, form: str = "svg") -> bytes:
    """Return horizontal bars as a picture, the first one on top; `parts` are the names of the parts of a bar."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, _HEAD + _ROW * len(bars)))
        axes = figure.subplots()
        axes.set_title(title, pad=26)
        axes.set(xlim=(0, 1.15), ylim=(len(bars) - 0.7, -0.8))
        axes.set_axis_off()
        for row, bar in enumerate(bars):
            left = 0.0
            for share, part, color in zip(bar.shares, parts, COLORS, strict=False):
                axes.barh(row, share, height=0.45, left=left, color=color, label="_" if row else part)
                left += share
            axes.text(0, row - 0.32, bar.title, verticalalignment="bottom")
            axes.text(left + 0.01, row, bar.total, verticalalignment="center")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(parts), borderaxespad=0)
        return _saved(figure, title, form)


class _RoundValues(LogLocator):
    """1, 2 and 5 of each power of ten; where fewer than three of them are visible, even steps."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        values = super().tick_values(vmin, vmax)
        visible = [value for value in values if vmin <= value <= vmax]
        return values if len(visible) > 2 else AutoLocator().tick_values(vmin, vmax)


def _saved(figure: Figure, title: str, form: str) -> bytes:
    stream = BytesIO()
    # Neither the day nor matplotlib's version.
    omitted = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    figure.savefig(stream, format=form, dpi=_PIXELS[form], metadata={"Title": title, **omitted})
    return stream.getvalue()
