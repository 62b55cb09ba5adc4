from io import BytesIO
from typing import Any

import pytest

from training_workloads.planning.line_chart import Line

Image: Any = pytest.importorskip("PIL.Image", reason="the extra 'charts' is not installed")

WHITE, ORANGE, BLUE, GREEN = (255, 255, 255), (201, 111, 18), (76, 130, 195), (106, 162, 113)
# As in test_line_chart.py: the axes are from 1 to 16 and from 90 to 1,760.
LINES = [
    Line(name="ideal", points=[(1, 100), (16, 1600)], dashed=True),
    Line(name="predicted", points=[(1, 100), (16, 400)]),
    Line(name="published", points=[(8, 700)], marks=True),
]


def picture(title: str = "A & B", lines: list[Line] = LINES) -> Any:
    from training_workloads.planning.png_chart import png_chart

    return Image.open(BytesIO(png_chart(title, "GPUs", "images/s", lines))).convert("RGB")


def colors_in(column: int, drawn: Any) -> list[tuple[int, int, int]]:
    """Return the lines' colors in a column of the plot, from above, each once."""
    found = [drawn.getpixel((column, row)) for row in range(100, 920)]
    return list(dict.fromkeys(color for color in found if color in (ORANGE, BLUE, GREEN)))


def test_it_has_two_pixels_for_each_of_the_svg() -> None:
    assert picture().size == (1720, 1040)
    assert picture().getpixel((1, 1)) == WHITE


def test_lines_and_marks_are_at_their_places() -> None:
    drawn = picture()
    # 8 of 1 to 16 is at three quarters of 160 to 1250 pixels, and 700 of 90 to 1,760 at 31 % from above.
    assert drawn.getpixel((978, 354)) == GREEN
    # A fifth before the end the dashed line is above the other one.
    assert {tuple(colors_in(column, drawn)) for column in range(1100, 1130)} <= {(ORANGE, BLUE), (BLUE,)}


def test_a_dashed_line_has_gaps_and_another_has_none() -> None:
    drawn = picture()
    columns = range(300, 500)
    assert 0 < sum(ORANGE in colors_in(column, drawn) for column in columns) < len(columns)
    assert all(BLUE in colors_in(column, drawn) for column in columns)


def test_texts_are_written() -> None:
    # The title is in the rows above the plot, and the names of lines right of it.
    for place in ((160, 20, 800, 62), (1270, 80, 1720, 920), (160, 985, 1250, 1040), (0, 100, 155, 925)):
        part = picture().crop(place)
        assert any(low < 128 for low, _ in part.getextrema()), place
    assert len(picture(title=" ").crop((160, 20, 800, 62)).getcolors()) == 1
