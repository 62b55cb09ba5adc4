"""What the set-up says on a machine where something is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest

# What every Debian has, and then what the README asks for.
ALWAYS = ["bash", "dirname", "env", "mkdir", "sed"]
ASKED_FOR = ["c++", "git", "python3.11"]


def preflight(root: Path, folder: Path, missing: str | None) -> subprocess.CompletedProcess[str]:
    """Runs the check on a machine without one program."""
    for name in {*ALWAYS, *ASKED_FOR} - {missing}:
        program = shutil.which(name)
        assert program, f"{name} is needed to test the set-up"
        (folder / name).symlink_to(Path(program).resolve())
    command = ["bash", str(root / "setup/preflight.sh")]
    return subprocess.run(command, cwd=folder, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_a_machine_that_has_everything(root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path, missing=None)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("c++", "a C++ compiler (Debian: g++)"),
        ("git", "git"),
        ("python3.11", "python3.11 (found: no python3; Debian: python3)"),
    ],
)
def test_what_is_missing_is_one_line(program: str, told: str, root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path, missing=program)
    assert result.returncode == 1
    assert result.stderr == f"error: install what is missing, then run make again: {told}\n"
