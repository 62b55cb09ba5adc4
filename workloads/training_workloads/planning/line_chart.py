"""Lines over a number of GPUs as an SVG picture, both axes logarithmic; it needs no plotting library."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Line", "line_chart"]

_WIDTH, _HEIGHT = 860, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 235, 50, 60
_FAMILY = "Helvetica, Arial, Liberation Sans, sans-serif"
_TEXT, _SOFT, _GRID = "#1f2933", "#52606d", "#d9dfe5"
_COLORS = ("#c96f12", "#4c82c3", "#6aa271", "#8561b5", "#7b8794")
_LABEL_HEIGHT = 17


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: Written beside its end.
        points: Values by their place, all above 0.
        marks: Whether the points are drawn instead of a line between them.
        dashed: Whether the line is an ideal or a limit.
    """

    name: str
    points: Sequence[tuple[float, float]]
    marks: bool = False
    dashed: bool = False


def line_chart(title: str, x_name: str, y_name: str, lines: Sequence[Line]) -> str:
    """Return the picture as SVG."""
    axes = _Axes.around([point for line in lines for point in line.points])
    parts = [
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="{_FAMILY}" font-size="13" fill="{_TEXT}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 28, title, size=16, bold=True),
        *axes.drawn(x_name, y_name),
        *_lines(axes, lines),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Axes:
    """The place of values in the picture, from the first to the last of each axis."""

    x: tuple[float, float]
    y: tuple[float, float]

    @classmethod
    def around(cls, points: Sequence[tuple[float, float]]) -> "_Axes":
        horizontal, vertical = [x for x, _ in points], [y for _, y in points]
        return cls(x=(min(horizontal), max(horizontal)), y=(min(vertical) * 0.9, max(vertical) * 1.1))

    def place(self, point: tuple[float, float]) -> tuple[float, float]:
        across = _share(point[0], self.x) * (_WIDTH - _LEFT - _RIGHT)
        up = _share(point[1], self.y) * (_HEIGHT - _TOP - _BOTTOM)
        return round(_LEFT + across, 1), round(_HEIGHT - _BOTTOM - up, 1)

    def drawn(self, x_name: str, y_name: str) -> Iterator[str]:
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        for value in _powers_of_two(self.x):
            x, _ = self.place((value, self.y[0]))
            yield f'<line x1="{x}" y1="{_TOP}" x2="{x}" y2="{bottom}" stroke="{_GRID}"/>'
            yield _text(x, bottom + 20, f"{value:,.12g}", anchor="middle")
        for value in _ticks(self.y):
            _, y = self.place((self.x[0], value))
            yield f'<line x1="{_LEFT}" y1="{y}" x2="{right}" y2="{y}" stroke="{_GRID}"/>'
            yield _text(_LEFT - 8, y + 4, f"{value:,.12g}", anchor="end")
        yield _text((_LEFT + right) / 2, _HEIGHT - 16, x_name, anchor="middle", color=_SOFT)
        yield _text(_LEFT, _TOP - 6, y_name, color=_SOFT)


def _lines(axes: _Axes, lines: Sequence[Line]) -> Iterator[str]:
    """Draw each line, with its name beside its end; names keep apart from each other, highest line first."""
    last = -math.inf
    order = sorted(range(len(lines)), key=lambda index: axes.place(lines[index].points[-1])[1])
    for index in order:
        line, color = lines[index], _COLORS[index % len(_COLORS)]
        places = [axes.place(point) for point in line.points]
        if line.marks:
            yield from (f'<circle cx="{x}" cy="{y}" r="5" fill="{color}"/>' for x, y in places)
        else:
            path = " ".join(f"{x},{y}" for x, y in places)
            dashes = ' stroke-dasharray="6 5"' if line.dashed else ""
            yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2.5"{dashes}/>'
        last = max(places[-1][1] + 4, last + _LABEL_HEIGHT)
        yield _text(_WIDTH - _RIGHT + 12, last, line.name, color=color)


def _share(value: float, limits: tuple[float, float]) -> float:
    low, high = map(math.log, limits)
    return (math.log(value) - low) / (high - low) if high > low else 0.5


def _ticks(limits: tuple[float, float]) -> list[float]:
    powers = range(math.floor(math.log10(limits[0])), math.ceil(math.log10(limits[1])) + 1)
    values = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    return [value for value in values if limits[0] <= value <= limits[1]]


def _powers_of_two(limits: tuple[float, float]) -> list[float]:
    return [2.0**power for power in range(32) if limits[0] <= 2**power <= limits[1]]


def _text(
    x: float, y: float, text: str, *, size: int = 13, bold: bool = False, anchor: str = "start", color: str = _TEXT
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{color}"{weight}>'
        f"{escape(text)}</text>"
    )
