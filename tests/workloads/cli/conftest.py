"""The program, in an empty folder."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from training_workloads.cli import main


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command of the program in this process, which is faster, in `tmp_path`."""

    def run(*arguments: str) -> Result:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["trainctl", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert isinstance(code, int)
        return Result(code, *capsys.readouterr())

    return run


def names_in(folder: Path) -> set[str]:
    """Return the names of the manifests of a folder."""
    return {path.name.removesuffix(".k8s.yaml") for path in folder.iterdir() if path.is_file()}
