"""Tests of train.py on this machine, as README.md sets it up: `python -m pytest test_training.py`."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not list(Path().glob(".venv-t*")), reason="no environment for train.py: README.md says how")
def test_training_that_is_killed_resumes_exactly() -> None:
    """Two ranks train undisturbed, and again with kills; both end with the same weights, to the last bit."""
    arguments = ["--epochs", "3", "--checkpoint-every", "5steps"]
    trainctl = [sys.executable, "-m", "training_workloads"]
    command = [*trainctl, "test-resume", "train.py", "--kills", "3", "--", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
