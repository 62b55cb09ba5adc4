import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from training.runtime import curve, curve_picture, picture_process, ranks


def history(*world_sizes: int) -> list[dict[str, Any]]:
    return [
        curve.point(epoch, size, loss={"training": 2 / epoch}, accuracy={"top-1": 1 - 1 / epoch, "top-5": 0.9})
        for epoch, size in enumerate(world_sizes, start=1)
    ]


def results(*world_sizes: int) -> dict[str, Any]:
    return {"images_per_second": 4606.7, "history": history(*world_sizes)}


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ranks, "rank", lambda: 0)
    folder = tmp_path / "digits"
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(results(2, 2)))
    return folder


def test_a_point_has_the_epoch_its_ranks_and_rounded_values() -> None:
    assert curve.point(3, 2, loss={"training": 0.123456789}, accuracy={"test": 0.5}) == {
        "epoch": 3,
        "world_size": 2,
        "loss": {"training": 0.123457},
        "accuracy": {"test": 0.5},
    }


def test_the_picture_has_job_ranks_speed_and_a_line_for_each_value() -> None:
    figure = curve_picture.figure("digits", results(2, 2, 2))
    assert words(figure) == ["digits", "2 ranks, 4,607 images/s"]
    loss, accuracy = figure.axes
    assert (loss.get_title("left"), accuracy.get_title("left")) == ("loss", "accuracy")
    assert [line.get_label() for line in loss.lines] == ["training 0.667"]
    assert [line.get_label() for line in accuracy.lines] == ["top-1 0.667", "top-5 0.900"]
    assert np.asarray(loss.lines[0].get_xydata()).tolist() == [[1, 2], [2, 1], [3, 0.666667]]


def test_the_picture_of_a_last_epoch_without_a_loss_has_the_losses_before() -> None:
    given = results(2, 2, 2)
    given["history"][-1]["loss"] = {}
    loss, accuracy = curve_picture.figure("digits", given).axes
    assert [line.get_label() for line in loss.lines] == ["training 1.000"]
    assert np.asarray(accuracy.lines[0].get_xdata()).tolist() == [1, 2, 3]


def test_the_picture_of_a_loss_that_is_not_finite_has_the_other_lines() -> None:
    # As results.json has it: JSON has no such number.
    given = results(2, 2, 2)
    for point in given["history"]:
        point["loss"] = {"training": None, "validation": 0.5}
    loss, _ = curve_picture.figure("digits", given).axes
    assert [line.get_label() for line in loss.lines] == ["validation 0.500"]


@pytest.mark.parametrize(("sizes", "shown"), [((1,), "1 rank,"), ((2, 4, 3, 3), "2 to 4 ranks,")])
def test_the_picture_names_every_number_of_ranks(sizes: tuple[int, ...], shown: str) -> None:
    assert words(curve_picture.figure("job", results(*sizes)))[1].startswith(shown)


def test_equal_results_make_equal_pictures_that_any_page_can_show() -> None:
    first, second = (curve_picture.picture("digits", results(2, 2)) for _ in range(2))
    assert first == second
    assert ElementTree.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"
    # The card: light on a dark page too.
    assert b"fill: #ffffff" in first


def test_rank_zero_alone_draws(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "rank", lambda: 1)
    curve.draw(output)
    assert not (output / "curve.svg").exists()
    monkeypatch.setattr(ranks, "rank", lambda: 0)
    curve.draw(output)
    assert (output / "curve.svg").read_bytes() == curve_picture.picture("digits", results(2, 2))


@pytest.mark.parametrize(
    ("content", "reason"), [("{", "JSONDecodeError: Expecting property name"), ("{}", "KeyError: 'history'")]
)
def test_a_picture_that_fails_is_one_warning(
    output: Path, capsys: pytest.CaptureFixture[str], content: str, reason: str
) -> None:
    (output / "results.json").write_text(content)
    curve.draw(output)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {output / 'curve.svg'} was not drawn (")
    assert reason in line
    assert line.endswith(f"; to draw it: python -m training.runtime.curve_picture {output}")


def test_a_picture_that_takes_too_long_is_one_warning(
    output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = picture_process.draw
    monkeypatch.setattr(picture_process, "draw", lambda *given: draw(*given, seconds=0.001))
    curve.draw(output)
    (line,) = capsys.readouterr().err.splitlines()
    assert "was not drawn (not finished after 0.001 s)" in line
    assert not (output / "curve.svg").exists()
