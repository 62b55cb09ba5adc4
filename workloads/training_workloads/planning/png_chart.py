"""The chart of `planning.line_chart` as PNG, drawn by Pillow, which only the extra `charts` installs.

Pillow brings its font, so that the picture needs none of the machine.
"""

import math
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from training_workloads.planning.line_chart import (
    BACKGROUND,
    DASH,
    DOT_RADIUS,
    GRID,
    HEIGHT,
    STROKE_WIDTH,
    WIDTH,
    Dot,
    Label,
    Line,
    Rule,
    Shape,
    Stroke,
    chart_shapes,
)

__all__ = ["png_chart"]

# Two pixels for each of the SVG, as for a screen of high density. Lines are drawn larger and reduced, because Pillow
# has no smooth ones.
_SCALE = 2
_SMOOTH = 4

_Place = tuple[float, float]
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def png_chart(title: str, x_name: str, y_name: str, lines: Sequence[Line]) -> bytes:
    """Return the picture as PNG."""
    shapes = list(chart_shapes(title, x_name, y_name, lines))
    large = Image.new("RGB", (WIDTH * _SMOOTH, HEIGHT * _SMOOTH), BACKGROUND)
    pen = ImageDraw.Draw(large)
    for shape in shapes:
        _draw_line(pen, shape)
    picture = large.reduce(_SMOOTH // _SCALE)
    pen = ImageDraw.Draw(picture)
    for shape in shapes:
        if isinstance(shape, Label):
            _write(pen, shape)
    file = BytesIO()
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def _draw_line(pen: ImageDraw.ImageDraw, shape: Shape) -> None:
    if isinstance(shape, Rule):
        pen.line([_scaled(shape.start), _scaled(shape.end)], GRID, _SMOOTH)
    elif isinstance(shape, Dot):
        pen.circle(_scaled(shape.place), DOT_RADIUS * _SMOOTH, fill=shape.color)
    elif isinstance(shape, Stroke):
        for part in _dashes(shape.places) if shape.dashed else [shape.places]:
            pen.line([_scaled(place) for place in part], shape.color, round(STROKE_WIDTH * _SMOOTH), joint="curve")


def _write(pen: ImageDraw.ImageDraw, label: Label) -> None:
    font = ImageFont.load_default(label.size * _SCALE)
    x, y = (value * _SCALE for value in label.place)
    # Pillow's font has no bold letters.
    stroke = 0.5 if label.bold else 0
    pen.text((x, y), label.text, label.color, font, anchor=_ANCHORS[label.anchor], stroke_width=stroke)


def _scaled(place: _Place) -> _Place:
    return place[0] * _SMOOTH, place[1] * _SMOOTH


def _dashes(places: Sequence[_Place]) -> Iterator[Sequence[_Place]]:
    """Yield the dashes along a line, which begin with each of its parts."""
    for start, end in pairwise(places):
        length = math.dist(start, end)
        for begun in range(0, math.ceil(length), sum(DASH)):
            yield [_between(start, end, min(at, length) / length) for at in (begun, begun + DASH[0])]


def _between(start: _Place, end: _Place, share: float) -> _Place:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
