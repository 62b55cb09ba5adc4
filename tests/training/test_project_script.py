"""The training script of a project that `trainctl init` writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.mpirun import ROOT, Run

pytestmark = pytest.mark.whole_run

SCRIPT = ROOT / "workloads/training_workloads/project/train.py"


def test_two_ranks_train_and_one_resumes(launch: Callable[..., Run], tmp_path: Path) -> None:
    options = ("--output-dir", tmp_path, "--epochs")
    first = launch(2, SCRIPT, *options, "1", output=tmp_path)
    second = launch(1, SCRIPT, *options, "2", output=tmp_path)
    assert (first.code, second.code) == (0, 0), first.stderr + second.stderr
    started, trained = first.stdout.splitlines()
    resumed, trained_again = second.stdout.splitlines()
    assert started.startswith("2 ranks x 32 images")
    assert started.endswith("0 of 1 epochs done")
    assert resumed.endswith("1 of 2 epochs done")
    # About 0.5 after one epoch, and 0.8 after two.
    assert trained.startswith("epoch 1: test loss ")
    assert trained_again.startswith("epoch 2: test loss ")
    assert float(trained_again.split()[-1]) > float(trained.split()[-1]) + 0.1
