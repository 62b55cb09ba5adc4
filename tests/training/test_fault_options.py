import sys

import pytest

from tests.faults import __main__ as suite


def test_lives_and_a_number_of_faults_are_rejected_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tests.faults", "--faults", "1000", "killed"])
    with pytest.raises(SystemExit):
        suite._parse()
    assert "'--faults' and lives are both given; give one of them" in capsys.readouterr().err
