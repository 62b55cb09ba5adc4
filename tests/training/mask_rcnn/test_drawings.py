from pathlib import Path

import numpy as np
import pytest

from training.mask_rcnn import drawings
from training.mask_rcnn.drawings import Drawn


def drawn(scores: list[float], cells: int) -> Drawn:
    image = np.full((40, 60, 3), 200, np.uint8)
    boxes = np.array([[5, 5, 25, 35], [10, 20, 38, 58]], np.float32)[: len(scores)]
    labels = np.array([1, 2], np.int32)[: len(scores)]
    return Drawn(image, boxes, labels, np.array(scores), np.ones((len(scores), cells, cells), np.float32))


def test_each_image_has_its_truth_above_what_was_found_with_scores() -> None:
    pairs = [(drawn([1, 1], 112), drawn([0.9, 0.3], 28)) for _ in range(5)]
    figure = drawings.figure(pairs, ["circle", "star"])
    panels = [axes for axes in figure.axes if axes.get_title("left")]
    assert [axes.get_title("left") for axes in panels] == ["truth"] * 4 + ["found"] * 4 + ["truth", "found"]
    assert [text.get_text() for text in panels[0].texts] == ["circle", "star"]
    # What is not certain is not shown.
    assert [text.get_text() for text in panels[4].texts] == ["circle 0.90"]


def test_another_process_draws_the_file(tmp_path: Path) -> None:
    drawings.draw(tmp_path, [(drawn([1, 1], 112), drawn([0.9], 28))], ["circle", "star"])
    assert (tmp_path / "predictions.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_evaluated_nothing_draws_nothing(tmp_path: Path) -> None:
    drawings.draw(tmp_path, [], ["circle"])
    assert not list(tmp_path.iterdir())


def test_a_picture_that_fails_is_one_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawings.draw(tmp_path, [(drawn([1, 1], 112), drawn([0.9], 28))], ["circle"])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {tmp_path / 'predictions.png'} was not drawn (IndexError")
