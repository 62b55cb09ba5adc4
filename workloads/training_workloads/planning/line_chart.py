"""Lines over a number of GPUs as an SVG picture, both axes logarithmic; it needs no plotting library.

`planning.png_chart` draws the same shapes as PNG.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import wrap

__all__ = [
    "BACKGROUND",
    "COLORS",
    "DASH",
    "DOT_RADIUS",
    "GRID",
    "HEIGHT",
    "PREDICTED",
    "PUBLISHED",
    "STROKE_WIDTH",
    "WIDTH",
    "Box",
    "Dot",
    "Label",
    "Line",
    "Rule",
    "Shape",
    "Stroke",
    "chart_shapes",
    "line_chart",
    "svg_picture",
]

#: Of the picture, in pixels.
WIDTH, HEIGHT = 860, 520
BACKGROUND, GRID = "#ffffff", "#d9dfe5"
DOT_RADIUS = 5
STROKE_WIDTH = 2.5

#: Length of a dash, and of the gap after it.
DASH = (6, 5)

_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 235, 50, 60
_FAMILY = "Helvetica, Arial, Liberation Sans, sans-serif"
_TEXT, _SOFT = "#1f2933", "#52606d"
_LABEL_HEIGHT = 17

# Of most letters, in pixels, and how many of them a row of a line's name has room for.
_LETTER_WIDTH, _MOST_LETTERS = 7.5, 33

#: Of lines and bars, in their order.
COLORS = ("#c96f12", "#4c82c3", "#6aa271", "#8561b5", "#b5484a", "#2f8f8f", "#8a7a2a", "#c05a9a")

#: Of what was not measured, beside lines that were: predictions, and published figures.
PREDICTED, PUBLISHED = "#1f2933", "#7b8794"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: Written beside its end; empty for a line without a name.
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
class Rule:
    """A thin line of the grid, from one place in the picture to another, in pixels."""

    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stroke:
    """A line through places."""

    places: Sequence[tuple[float, float]]
    color: str
    dashed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Dot:
    """A filled circle around a place."""

    place: tuple[float, float]
    color: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A text; `anchor` says which part of its baseline is at the place: start, middle or end."""

    place: tuple[float, float]
    text: str
    size: int = 13
    bold: bool = False
    anchor: str = "start"
    color: str = _TEXT


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A filled rectangle."""

    place: tuple[float, float]
    width: float
    height: float
    color: str


Shape = Rule | Stroke | Dot | Label | Box


def line_chart(title: str, x_name: str, y_name: str, lines: Sequence[Line]) -> str:
    """Return the picture as SVG."""
    return svg_picture(title, HEIGHT, chart_shapes(title, x_name, y_name, lines))


def svg_picture(title: str, height: int, shapes: Iterable[Shape]) -> str:
    """Return shapes as SVG."""
    parts = [
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="{_FAMILY}" font-size="13" fill="{_TEXT}">',
        f"<title>{escape(title)}</title>",
        _drawn(Box(place=(0, 0), width=WIDTH, height=height, color=BACKGROUND)),
        *map(_drawn, shapes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def chart_shapes(title: str, x_name: str, y_name: str, lines: Sequence[Line]) -> Iterator[Shape]:
    """Yield what a chart consists of, whatever draws it; later shapes are above earlier ones."""
    axes = _Axes.around([point for line in lines for point in line.points])
    yield Label(place=(_LEFT, 28), text=title, size=16, bold=True)
    yield from axes.shapes(x_name, y_name)
    yield from _lines(axes, lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Axes:
    """The place of values in the picture, from the first to the last of each axis; `marks` are along the first one."""

    x: tuple[float, float]
    y: tuple[float, float]
    marks: Sequence[float]

    @classmethod
    def around(cls, points: Sequence[tuple[float, float]]) -> "_Axes":
        horizontal, vertical = sorted({x for x, _ in points}), [y for _, y in points]
        limits = (horizontal[0], horizontal[-1])
        marks = horizontal if _have_room(horizontal, limits) else _powers_of_two(limits)
        return cls(x=limits, y=(min(vertical) * 0.9, max(vertical) * 1.1), marks=marks)

    def place(self, point: tuple[float, float]) -> tuple[float, float]:
        across = _share(point[0], self.x) * (WIDTH - _LEFT - _RIGHT)
        up = _share(point[1], self.y) * (HEIGHT - _TOP - _BOTTOM)
        return round(_LEFT + across, 1), round(HEIGHT - _BOTTOM - up, 1)

    def shapes(self, x_name: str, y_name: str) -> Iterator[Shape]:
        bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
        for value in self.marks:
            x, _ = self.place((value, self.y[0]))
            yield Rule(start=(x, _TOP), end=(x, bottom))
            yield Label(place=(x, bottom + 20), text=f"{value:,.12g}", anchor="middle")
        for value in _ticks(self.y):
            _, y = self.place((self.x[0], value))
            yield Rule(start=(_LEFT, y), end=(right, y))
            yield Label(place=(_LEFT - 8, y + 4), text=f"{value:,.12g}", anchor="end")
        yield Label(place=((_LEFT + right) / 2, HEIGHT - 16), text=x_name, anchor="middle", color=_SOFT)
        yield Label(place=(_LEFT, _TOP - 6), text=y_name, color=_SOFT)


def _lines(axes: _Axes, lines: Sequence[Line]) -> Iterator[Shape]:
    """Yield each line, with its name beside its end; names keep apart from each other, highest line first."""
    last = -math.inf
    order = sorted(range(len(lines)), key=lambda index: axes.place(lines[index].points[-1])[1])
    for index in order:
        line = lines[index]
        color = line.color or COLORS[index % len(COLORS)]
        places = [axes.place(point) for point in line.points]
        if line.marks or len(places) == 1:
            yield from (Dot(place=place, color=color) for place in places)
        else:
            yield Stroke(places=places, color=color, dashed=line.dashed)
        for text in wrap(line.name, _MOST_LETTERS, break_on_hyphens=False):
            last = max(places[-1][1] + 4, last + _LABEL_HEIGHT)
            yield Label(place=(WIDTH - _RIGHT + 12, last), text=text, color=color)


def _share(value: float, limits: tuple[float, float]) -> float:
    low, high = map(math.log, limits)
    return (math.log(value) - low) / (high - low) if high > low else 0.5


def _ticks(limits: tuple[float, float]) -> list[float]:
    """Return 1, 2 and 5 of each power of ten; where fewer than three of them are within the limits, even steps."""
    low, high = limits
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    found = [value for value in values if low <= value <= high]
    if len(found) > 2 or low == high:
        return found
    power = math.floor(math.log10(high - low))
    step = next(each for each in (10.0 ** (power - 1) * digit for digit in (2, 5, 10, 20)) if (high - low) / each < 8)
    return [round(step * number, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _label_width(values: Sequence[float]) -> float:
    return 8 + _LETTER_WIDTH * max((len(f"{value:,.12g}") for value in values), default=1)


def _have_room(values: Sequence[float], limits: tuple[float, float]) -> bool:
    """Return whether the label of each value fits between its neighbors'."""
    places = [_share(value, limits) * (WIDTH - _LEFT - _RIGHT) for value in values]
    return all(after - before >= _label_width(values) for before, after in pairwise(places))


def _powers_of_two(limits: tuple[float, float]) -> list[float]:
    """Return as many as there is room for, with the same factor between them."""
    powers = [power for power in range(32) if limits[0] <= 2**power <= limits[1]]
    label = _label_width([2.0**power for power in powers])
    factor = math.ceil(len(powers) * label / (WIDTH - _LEFT - _RIGHT))
    return [2.0**power for power in powers if power % factor == 0]


def _drawn(shape: Shape) -> str:
    if isinstance(shape, Box):
        x, y = shape.place
        return f'<rect x="{x:g}" y="{y:g}" width="{shape.width:g}" height="{shape.height:g}" fill="{shape.color}"/>'
    if isinstance(shape, Dot):
        x, y = shape.place
        return f'<circle cx="{x}" cy="{y}" r="{DOT_RADIUS}" fill="{shape.color}"/>'
    if isinstance(shape, Label):
        x, y = shape.place
        weight = ' font-weight="bold"' if shape.bold else ""
        return (
            f'<text x="{x:g}" y="{y:g}" font-size="{shape.size}" text-anchor="{shape.anchor}" fill="{shape.color}"'
            f"{weight}>{escape(shape.text)}</text>"
        )
    if isinstance(shape, Rule):
        (x1, y1), (x2, y2) = shape.start, shape.end
        return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{GRID}"/>'
    path = " ".join(f"{x},{y}" for x, y in shape.places)
    dashes = f' stroke-dasharray="{DASH[0]} {DASH[1]}"' if shape.dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{shape.color}" stroke-width="{STROKE_WIDTH}"{dashes}/>'
