"""A training run on two ranks, with its results and its time."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import mpirun_ranks, torchrun_ranks


def train(arguments: Sequence[str], output: Path, *, torch: bool = False) -> tuple[dict[str, Any], float]:
    """Run Python with these arguments and '--output-dir' on two ranks; return results.json and the seconds."""
    started = time.monotonic()
    launcher = torchrun_ranks if torch else mpirun_ranks
    mpirun_ranks.finish(launcher.start(2, [*arguments, "--output-dir", str(output)], bind_to="none"))
    seconds = time.monotonic() - started
    results: dict[str, Any] = json.loads((output / "results.json").read_text())
    return results, seconds
