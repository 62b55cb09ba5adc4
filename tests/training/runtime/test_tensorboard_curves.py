from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training.runtime.tensorboard_curves import Curves


def test_curves_that_cannot_be_written_end_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tensorboard").write_text("")
    curves = Curves(tmp_path)
    for step in (1, 2):
        curves.add(step, {"loss": 1.0})
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {tmp_path / 'tensorboard'} cannot be written (")
    assert warning.count("the run continues") == 1


def test_tensorboard_reads_every_point(tmp_path: Path) -> None:
    curves = Curves(tmp_path, "tensorboard/evaluation")
    for step in (1, 20):
        curves.add(step, {"loss": 0.5 * step, "test accuracy": 0.25})
    read = EventAccumulator(str(tmp_path / "tensorboard/evaluation"))
    read.Reload()
    assert read.Tags()["scalars"] == ["loss", "test accuracy"]
    assert [(point.step, point.value) for point in read.Scalars("loss")] == [(1, 0.5), (20, 10.0)]


def test_a_prepared_link_ends_the_curves_and_not_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 5)
    Curves(tmp_path)
    (file,) = (tmp_path / "tensorboard").iterdir()
    mine = tmp_path / "mine"
    mine.write_text("untouched")
    file.unlink()
    file.symlink_to(mine)
    Curves(tmp_path).add(1, {"loss": 1.0})
    assert mine.read_text() == "untouched"
    assert f"cannot be written ({file.name} is a link); the run continues" in capsys.readouterr().err
