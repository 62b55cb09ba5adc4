"""What a run of Mask R-CNN has written into its folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from training.runtime import checkpoint


def last(output: Path) -> checkpoint.Checkpoint:
    found = checkpoint.newest(output / "checkpoints")
    assert found is not None
    return found


def same(first: Path, second: Path) -> bool:
    pairs = zip(last(first).arrays, last(second).arrays, strict=True)
    return last(first).step == last(second).step and all(np.array_equal(a, b) for a, b in pairs)


def results(output: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((output / "results.json").read_text())
    return content


def points(output: Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((output / "evaluations.json").read_text())["evaluations"]
    return content
