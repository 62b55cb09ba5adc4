"""Draw the curve of a finished run from its results.json: python -m training.runtime.curve_picture runs/digits."""

import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import MaxNLocator

from .files import write_atomically

# Inches of 100 pixels; the letters are large enough for half of that width.
_WIDTH, _HEIGHT = 8.3, 4.1
_MANY_EPOCHS = 30
_FEW_LINES = 3

# A light card on any page, so that dark pages show it too.
_CARD, _BORDER, _GRID, _TEXT, _QUIET = "#ffffff", "#d1d9e0", "#e7ebef", "#1f2328", "#59636e"

# matplotlib types the names one by one.
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": _BORDER,
    "axes.facecolor": "none",
    "axes.labelcolor": _QUIET,
    # They differ in lightness, not only in hue.
    "axes.prop_cycle": cycler(color=["#0a58ca", "#e07a1f", "#1f2328", "#5fa8d3", "#a3336b", "#7d8590"]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",  # matplotlib's own
    "font.size": 14,
    # Equal ids in equal pictures.
    "svg.hashsalt": "training",
    "text.color": _TEXT,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
}


def picture(job: str, results: Mapping[str, Any]) -> bytes:
    """Return the picture as SVG, the same bytes for the same results.

    Args:
        job: The name of the job.
        results: The content of results.json.
    """
    with mpl.rc_context(_STYLE):
        stream = io.BytesIO()
        figure(job, results).savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def figure(job: str, results: Mapping[str, Any]) -> Figure:
    """Return the title and one panel each for loss and accuracy."""
    history = results["history"]
    made = Figure(figsize=(_WIDTH, _HEIGHT), facecolor="none")
    made.add_artist(
        FancyBboxPatch(
            (0.006, 0.012),
            0.988,
            0.976,
            boxstyle="round,pad=0,rounding_size=0.02",
            mutation_aspect=_WIDTH / _HEIGHT,
            facecolor=_CARD,
            edgecolor=_BORDER,
            zorder=-1,
        )
    )
    # Kubernetes takes names of 63 letters.
    made.text(0.035, 0.885, job, fontsize=min(16, 400 / len(job)), fontweight="bold")
    made.text(
        0.965, 0.885, f"{_ranks(history)}, {results['images_per_second']:,.0f} images/s", color=_QUIET, ha="right"
    )
    panels = made.subplots(
        1, 2, gridspec_kw={"left": 0.095, "right": 0.96, "top": 0.75, "bottom": 0.18, "wspace": 0.28}
    )
    for axes, name in zip(panels, ("loss", "accuracy"), strict=True):
        _draw_panel(axes, name, history)
    return made


def _ranks(history: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of ranks, or from which to which where it changed."""
    sizes = sorted({point["world_size"] for point in history})
    return f"{sizes[0]} to {sizes[-1]} ranks" if len(sizes) > 1 else f"{sizes[0]} rank{'s' * (sizes[0] > 1)}"


def _draw_panel(axes: Axes, panel: str, history: Sequence[Mapping[str, Any]]) -> None:
    axes.set_title(panel, loc="left", fontsize=14, pad=8)
    axes.set_xlabel("epoch")
    axes.grid(axis="y", color=_GRID)
    axes.tick_params(length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    # An epoch without a finite loss has no point.
    for name in dict.fromkeys(name for point in history for name in point[panel]):
        known = [(point["epoch"], point[panel][name]) for point in history if point[panel].get(name) is not None]
        if not known:
            continue
        epochs, values = zip(*known, strict=True)
        marker = "o" if len(known) <= _MANY_EPOCHS else None
        label = f"{name} {values[-1]:.3f}"
        axes.plot(epochs, values, label=label, linewidth=2.4, marker=marker, markersize=5, clip_on=False)
    # Where a curve that falls, or rises, leaves room.
    small: dict[str, Any] = (
        {"ncols": 2, "fontsize": 9, "handlelength": 1, "columnspacing": 1} if len(axes.lines) > _FEW_LINES else {}
    )
    axes.legend(loc="upper right" if panel == "loss" else "lower right", frameon=False, borderaxespad=0, **small)


def main(folder: str) -> None:
    """Draw the curve of a run's folder into it."""
    output = Path(folder)
    results = json.loads((output / "results.json").read_text())
    write_atomically(output / "curve.svg", picture(output.resolve().name, results))


if __name__ == "__main__":
    main(*sys.argv[1:])
