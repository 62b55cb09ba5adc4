"""The same run on two ranks by Horovod, and by TensorFlow's MultiWorkerMirroredStrategy without Horovod."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.mpirun import ROOT, Run, free_ports
from training.runtime import checkpoint

pytestmark = pytest.mark.whole_run

# 1,437 images on two ranks: 22 steps an epoch.
_OPTIONS = ["--image-size", "32", "--classes", "10", "--batch-size", "32", "--epochs", "2", "--warmup-epochs", "1"]
_OPTIONS += ["--learning-rate", "0.5", "--checkpoint-every", "5steps", "--deterministic"]

Start = Callable[..., Run]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "digits"
    made = ["-m", "training.imagenet.digit_shards", "--output-dir", str(folder), "--image-size", "36"]
    subprocess.run([sys.executable, *made], check=True, cwd=ROOT, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def horovod(launch: Callable[..., Run], folder: Path) -> Start:
    def start(output: Path) -> Run:
        given = ["--data-dir", folder, "--output-dir", output, *_OPTIONS]
        return launch(2, "-m", "tests.training.resnet50.tiny_resnet50", *given, output=output)

    return start


@pytest.fixture(scope="module")
def multiworker(launch: Callable[..., Run], folder: Path) -> Start:
    def start(output: Path, *more: str, kill_at: str | None = None) -> Run:
        given = ["--data-dir", folder, "--output-dir", output, *_OPTIONS, "--strategy", "multiworker", *more]
        program = "tests.training.resnet50.resnet50_without_horovod"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TRAINING_PORT", str(free_ports(2)))
            return launch(2, "-m", program, *given, output=output, kill_at=kill_at)

    return start


@pytest.fixture(scope="module")
def by_horovod(horovod: Start, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = horovod(tmp_path_factory.mktemp("runs") / "horovod")
    assert run.code == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def by_multiworker(multiworker: Start, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = multiworker(tmp_path_factory.mktemp("runs") / "multiworker")
    assert run.code == 0, run.stderr
    return run


def arrays(output: Path, step: int) -> list[NDArray[Any]]:
    """Return weights, optimizer and the statistics of each rank, after a step."""
    return list(checkpoint.read(output / "checkpoints" / f"step-{step:08d}.checkpoint").arrays)


def distance(first: Path, second: Path, step: int = 44) -> float:
    pairs = list(zip(arrays(first, step), arrays(second, step), strict=True))
    return max(float(np.abs(a.astype(np.float64) - b).max(initial=0)) for a, b in pairs)


def continued_from_step_40(run: Run, output: Path) -> Path:
    """Return a copy of a run's folder as it was after step 40."""
    shutil.copytree(run.output, output)
    for step in (43, 44):
        (output / f"checkpoints/step-000000{step}.checkpoint").unlink(missing_ok=True)
    (output / "results.json").unlink()
    return output


def test_both_strategies_end_with_the_same_weights(by_horovod: Run, by_multiworker: Run) -> None:
    # The sum of two numbers does not depend on their order, so here it is the same to the last bit.
    assert distance(by_horovod.output, by_multiworker.output) == 0
    results = [json.loads((run.output / "results.json").read_text()) for run in (by_horovod, by_multiworker)]
    assert [found["strategy"] for found in results] == ["horovod", "multiworker"]
    assert results[0]["history"] == results[1]["history"]
    assert ["horovod" in found["versions"] for found in results] == [True, False]


def test_a_run_of_horovod_continues_without_it_at_the_same_image(
    by_horovod: Run, multiworker: Start, tmp_path: Path
) -> None:
    output = continued_from_step_40(by_horovod, tmp_path / "run")
    run = multiworker(output)
    assert run.code == 0, run.stderr
    assert "resuming after step 40, 1152 images into epoch 2: written by 2 ranks, now 2" in run.stdout
    assert distance(output, by_horovod.output) == 0


def test_a_run_without_horovod_continues_under_it_at_the_same_image(
    by_multiworker: Run, horovod: Start, tmp_path: Path
) -> None:
    output = continued_from_step_40(by_multiworker, tmp_path / "run")
    run = horovod(output)
    assert run.code == 0, run.stderr
    assert "resuming after step 40, 1152 images into epoch 2: written by 2 ranks, now 2" in run.stdout
    assert distance(output, by_multiworker.output) == 0


def test_a_killed_run_without_horovod_resumes_to_the_same_weights(
    by_multiworker: Run, multiworker: Start, tmp_path: Path
) -> None:
    killed = multiworker(tmp_path, kill_at="step 23:")
    assert killed.code != 0
    assert not (tmp_path / "results.json").exists()
    resumed = multiworker(tmp_path)
    assert resumed.code == 0, resumed.stderr
    assert "resuming after step 2" in resumed.stdout
    assert distance(tmp_path, by_multiworker.output) == 0


def test_a_mistake_is_printed_once_and_ends_both_ranks(multiworker: Start, tmp_path: Path) -> None:
    run = multiworker(tmp_path, "--label-smoothing", "2")
    assert run.code == 2
    assert run.stderr.count("error: '--label-smoothing' is 2; give a number from 0 to 0.9") == 1
