from pathlib import Path

import pytest

from training.runtime.tensorboard_curves import Curves


def test_curves_that_cannot_be_written_end_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tensorboard").write_text("")
    curves = Curves(tmp_path)
    for step in (1, 2):
        curves.add(step, {"loss": 1.0})
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {tmp_path / 'tensorboard'} cannot be written (")
    assert warning.count("the run continues") == 1
