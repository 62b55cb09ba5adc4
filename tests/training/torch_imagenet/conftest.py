"""The digits as shards, which TensorFlow's side has written, and runs on them."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.training.mpirun import ROOT
from tests.training.torch_imagenet import forked_ranks
from tests.training.torch_imagenet.forked_ranks import OPTIONS, Ranks
from training.runtime import ranks

# A process that is forked from one whose OpenMP has threads would wait for them for ever.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Leave no ranks of a test to the next."""
    yield
    ranks.use(ranks.Ranks())


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the shards, with 1,437 and 360 images of 32 x 32 pixels."""
    folder = tmp_path_factory.mktemp("digits")
    command = [str(ROOT / ".venv-training/bin/python"), "-m", "training.imagenet.digit_shards"]
    options = ["--output-dir", str(folder), "--image-size", "32", "--train-shards", "4"]
    subprocess.run([*command, *options], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def start(digits: Path) -> Iterator[Callable[..., Ranks]]:
    """Start ranks that train a small network on the digits for two epochs of 11 steps of 128 images."""
    started: list[Ranks] = []

    def run(count: int, output: Path) -> Ranks:
        started.append(forked_ranks.start(count, output, ["--data-dir", str(digits), *OPTIONS]))
        return started[-1]

    yield run
    for each in started:
        each.kill()


@pytest.fixture(scope="session")
def finished(start: Callable[..., Ranks], tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    """Return a run of two ranks that nothing disturbed."""
    return start(2, tmp_path_factory.mktemp("finished") / "run").end()
