"""A run of Mask R-CNN on two ranks, with a tiny network and small shapes; the tests of this folder share it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.mpirun import ROOT, Run

_PROGRAM = ["-m", "tests.training.mask_rcnn.tiny_mask_rcnn"]
# 24 images on two ranks: a bucket of landscape and one of portrait images, which have one padded shape.
_OPTIONS = ["--architecture", "small", "--short-side", "64", "--long-side", "64", "--batch-size", "2", "--epochs", "3"]
_OPTIONS += ["--warmup-steps", "4", "--checkpoint-every", "2steps", "--evaluate-every", "3epochs", "--deterministic"]


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    source, output = folder / "source", folder / "data"
    shards = ["--train-shards", "2", "--validation-shards", "1"]
    for arguments in (
        ["training.coco.shapes", "--output-dir", source, "--images", "24"],
        ["training.coco.convert", "--source", source, "--output-dir", output, *shards],
    ):
        subprocess.run([sys.executable, "-m", *map(str, arguments)], check=True, cwd=ROOT, capture_output=True)
    return output


@pytest.fixture(scope="session")
def arguments(shapes: Path) -> Callable[[Path], list[str]]:
    def of(output: Path) -> list[str]:
        return [*_PROGRAM, "train", "--data-dir", str(shapes), "--output-dir", str(output), *_OPTIONS]

    return of


@pytest.fixture(scope="session")
def evaluation(shapes: Path) -> Callable[[Path], list[str]]:
    def of(output: Path) -> list[str]:
        return [*_PROGRAM, "evaluate", "--data-dir", str(shapes), "--output-dir", str(output)]

    return of


@pytest.fixture(scope="session")
def finished(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    output = tmp_path_factory.mktemp("runs") / "finished"
    run = launch(2, *arguments(output), output=output)
    assert run.code == 0, run.stderr
    return run
