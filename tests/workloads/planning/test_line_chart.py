import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_workloads.planning.line_chart import COLORS, Line, line_chart

SVG = "{http://www.w3.org/2000/svg}"
CHART = line_chart(
    "A & B",
    "GPUs",
    "images/s",
    [
        Line(name="ideal", points=[(1, 100), (16, 1600)], dashed=True),
        Line(name="<predicted>", points=[(1, 100), (4, 390), (16, 1200)]),
        Line(name="published", points=[(8, 700)], marks=True),
    ],
)
ROOT = ElementTree.fromstring(CHART)


def texts(root: ElementTree.Element) -> list[str | None]:
    return [each.text for each in root.iter(f"{SVG}text")]


def test_names_are_escaped_and_written() -> None:
    assert {"A & B", "GPUs", "images/s", "ideal", "<predicted>", "published"} <= set(texts(ROOT))
    assert ROOT.findtext(f"{SVG}title") == "A & B"


def test_the_axes_have_the_values_of_points_and_round_ones() -> None:
    assert [text for text in texts(ROOT) if text and text.replace(",", "").isdigit()] == [
        *("1", "4", "8", "16"),
        *("100", "200", "500", "1,000"),
    ]


def test_large_values_have_all_their_digits() -> None:
    root = ElementTree.fromstring(line_chart("t", "x", "y", [Line(name="n", points=[(1, 9e6), (2, 2e7)])]))
    assert "10,000,000" in texts(root)


def test_points_are_lines_or_marks() -> None:
    lines = {line.get("stroke-dasharray"): line.get("points", "") for line in ROOT.iter(f"{SVG}polyline")}
    assert {dashes: len(points.split()) for dashes, points in lines.items()} == {"6 5": 2, None: 3}
    assert len(list(ROOT.iter(f"{SVG}circle"))) == 1


def test_a_factor_has_the_same_length_everywhere() -> None:
    # 8 is at three quarters of the way from 1 to 16.
    (circle,) = ROOT.iter(f"{SVG}circle")
    first, _, last = next(
        line.get("points", "").split() for line in ROOT.iter(f"{SVG}polyline") if not line.get("stroke-dasharray")
    )
    left, right = (float(place.split(",")[0]) for place in (first, last))
    assert float(circle.get("cx", "0")) == pytest.approx(left + 0.75 * (right - left), abs=0.1)


@given(st.lists(st.tuples(st.floats(1, 1e5), st.floats(1e-3, 1e7)), min_size=1, max_size=8))
def test_everything_is_inside_the_picture(points: list[tuple[float, float]]) -> None:
    root = ElementTree.fromstring(line_chart("t", "x", "y", [Line(name="n", points=points, marks=True)]))
    for circle in root.iter(f"{SVG}circle"):
        assert 80 <= float(circle.get("cx", "-1")) <= 625
        assert 50 <= float(circle.get("cy", "-1")) <= 460


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ((94.9, 100.0), ["90", "95", "100", "105"]),
        ((20.0, 400.0), ["20", "50", "100", "200"]),
        ((0.95, 1.0), ["0.9", "0.95", "1", "1.05"]),
        ((8.9, 9.0), ["8.5", "9", "9.5"]),
    ],
)
def test_an_axis_has_three_ticks_also_where_values_differ_little(values: tuple[float, float], ticks: list[str]) -> None:
    picture = line_chart("speed", "GPUs", "images/s", [Line(name="a", points=[(1, values[0]), (2, values[1])])])
    shown = re.findall(r'text-anchor="end"[^>]*>([^<]*)<', picture)
    assert len(shown) >= 3
    assert set(ticks) <= set(shown)


def test_labels_have_room() -> None:
    points = [(2**power, power + 2) for power in range(-1, 22)]
    line = Line(name="a name of more than thirty-three letters", points=points)
    picture = line_chart("bandwidth", "KiB", "GB/s", [line])
    shown = re.findall(r'text-anchor="middle"[^>]*>([^<]*)<', picture)
    assert shown == ["1", "16", "256", "4,096", "65,536", "1,048,576", "KiB"]
    assert re.findall(r">([^<]*)</text>", picture)[-2:] == ["a name of more than thirty-three", "letters"]


def test_a_line_has_the_color_of_its_place_or_its_own_and_may_have_no_name() -> None:
    line = Line(name="named", points=[(1, 1), (2, 2)])
    root = ElementTree.fromstring(line_chart("t", "x", "y", [line, replace(line, name="", color="#123456"), line]))
    assert [each.get("stroke") for each in root.iter(f"{SVG}polyline")] == [COLORS[0], "#123456", COLORS[2]]
    assert texts(root).count("named") == 2


def test_a_single_point_is_a_mark() -> None:
    root = ElementTree.fromstring(line_chart("t", "x", "y", [Line(name="n", points=[(1, 1)])]))
    assert len(list(root.iter(f"{SVG}circle"))) == 1
