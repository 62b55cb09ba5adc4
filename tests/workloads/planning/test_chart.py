import struct
import xml.etree.ElementTree as ElementTree

import pytest

from training_workloads.planning.chart import COLORS, Bar, Line, bar_chart, line_chart

SVG = "{http://www.w3.org/2000/svg}"
LINES = [
    Line(name="ideal", points=[(1, 100), (16, 1600)], dashed=True),
    Line(name="<predicted>", points=[(1, 100), (4, 390), (16, 1200)]),
    Line(name="published", points=[(8, 700)]),
]


def drawn(*lines: Line, title: str = "A & B") -> ElementTree.Element:
    return ElementTree.fromstring(line_chart(title, "GPUs", "images/s", lines))


def texts(root: ElementTree.Element) -> list[str | None]:
    return [each.text for each in root.iter(f"{SVG}text")]


def styles(root: ElementTree.Element, color: str) -> list[str]:
    """Return the styles of the lines in a color, without those of the legend, which has no data."""
    figure = root.find(f"{SVG}g/[@id='figure_1']/{SVG}g/[@id='axes_1']")
    assert figure is not None
    found = [str(path.get("style")) for path in figure.iter(f"{SVG}path")]
    return [style for style in found if f"stroke: {color}" in style and "stroke-width" in style]


def test_names_are_escaped_and_written() -> None:
    assert {"A & B", "GPUs", "images/s", "ideal", "<predicted>", "published"} <= set(texts(drawn(*LINES)))
    assert drawn(*LINES).findtext(f"{SVG}title") == "A & B"


def test_dollars_are_no_formula() -> None:
    assert "$1 and $2" in texts(drawn(*LINES, title="$1 and $2"))


def test_the_axes_have_the_places_of_points_and_round_values() -> None:
    numbers = [text for text in texts(drawn(*LINES)) if text and text.replace(",", "").isdigit()]
    assert numbers == ["1", "4", "8", "16", "100", "200", "500", "1,000"]


@pytest.mark.parametrize(
    ("values", "shown"),
    [((9e6, 2e7), "10,000,000"), ((94.9, 100.0), "97"), ((0.95, 1.0), "0.97"), ((8.9, 9.0), "8.94")],
)
def test_values_that_differ_little_have_three_labels_and_large_ones_all_digits(
    values: tuple[float, float], shown: str
) -> None:
    assert shown in texts(drawn(Line(name="n", points=[(1, values[0]), (2, values[1])])))


def test_many_places_have_labels_with_room() -> None:
    found = texts(drawn(Line(name="n", points=[(2**power, power + 2) for power in range(-1, 22)])))
    assert found[:9] == ["0.5", "4", "32", "256", "2,048", "16,384", "131,072", "1,048,576", "GPUs"]


def test_a_line_has_the_color_of_its_place_or_its_own_and_may_have_no_name() -> None:
    points = [(1.0, 1.0), (2.0, 2.0)]
    ideal = Line(name="", points=points, color="#123456", dashed=True)
    root = drawn(Line(name="named", points=points), ideal, Line(name="third", points=points))
    assert ["stroke-dasharray" in style for style in styles(root, COLORS[0])] == [False]
    assert ["stroke-dasharray" in style for style in styles(root, "#123456")] == [True]
    assert len(styles(root, COLORS[2])) == 1
    assert texts(root)[-3:] == ["A & B", "named", "third"]


def test_a_mark_and_a_single_point_are_circles_without_a_line() -> None:
    marks = drawn(Line(name="", points=[(1, 1), (2, 2)], marks=True))
    single = drawn(Line(name="", points=[(8, 700)]))
    circles = [[use for use in root.iter(f"{SVG}use") if COLORS[0] in use.get("style", "")] for root in (marks, single)]
    assert [len(found) for found in circles] == [2, 1]
    assert [styles(root, COLORS[0]) for root in (marks, single)] == [[], []]


def test_a_bar_has_its_parts_one_behind_the_other() -> None:
    first = Bar(title="one", total="100 ms", shares=(0.5, 0, 0.25))
    second = Bar(title="two", total="9 ms", shares=(0.5, 0.5, 0))
    root = ElementTree.fromstring(bar_chart("Step", ("computation", "ranks", "images"), [first, second]))
    assert set(texts(root)) == {"Step", "one", "100 ms", "two", "9 ms", "computation", "ranks", "images"}


@pytest.mark.parametrize("form", ["svg", "png"])
def test_equal_charts_have_equal_bytes(form: str) -> None:
    first, second = (line_chart("t", "x", "y", LINES, form=form) for _ in range(2))
    assert first == second
    assert b"Matplotlib" not in first


def test_a_png_has_two_pixels_for_each_of_the_svg() -> None:
    content = line_chart("t", "x", "y", LINES, form="png")
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (1720, 1040)
