"""The set-up reports what is missing on a machine."""

import shutil
import subprocess
from pathlib import Path

import pytest

# The programs of every Debian, and those that the README requires.
ALWAYS = ["bash", "dirname", "env", "mkdir", "sed"]
REQUIRED = ["c++", "git", "python3.11"]


def preflight(root: Path, folder: Path, missing: str | None) -> subprocess.CompletedProcess[str]:
    """Run the check on a machine without one program."""
    for name in {*ALWAYS, *REQUIRED} - {missing}:
        program = shutil.which(name)
        assert program, f"{name} is needed to test the set-up"
        (folder / name).symlink_to(Path(program).resolve())
    command = ["bash", str(root / "setup/preflight.sh")]
    return subprocess.run(command, cwd=folder, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_accepts_a_complete_machine(root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path, missing=None)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("program", "reported"),
    [
        ("c++", "a C++ compiler (Debian: g++)"),
        ("git", "git"),
        ("python3.11", "python3.11 (found: no python3; Debian: python3)"),
    ],
)
def test_reports_a_missing_program_in_one_line(program: str, reported: str, root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path, missing=program)
    assert result.returncode == 1
    assert result.stderr == f"error: install what is missing, then run make again: {reported}\n"
