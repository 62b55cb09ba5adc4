"""One rank of `make bench-torch-scaling`: it takes one of ResNet-50's training steps for each line `step` of its input.

Rank zero prints `ready` after the warm-up, and the seconds of each step as JSON; another line than `step` ends it.
"""

import json
import os
import sys
import time

import torch

from benchmarks.torch_steps import Steps
from training.runtime import ranks, torch_ranks

IMAGE_SIZE, BATCH, WARM_UP = 224, 32, 2


def main() -> None:
    """Take the steps, on one core."""
    cores = sorted(os.sched_getaffinity(0))
    # As mpirun binds the ranks of the other benchmark: from the first core on.
    os.sched_setaffinity(0, {cores[int(os.environ["LOCAL_RANK"])]})
    torch.set_num_threads(1)
    with torch_ranks.connected():
        steps = Steps(torch.device("cpu"), batch=BATCH, image_size=IMAGE_SIZE, data_dir=None)
        for _ in range(WARM_UP):
            steps.take()
        _print("ready")
        while _next_step():
            started = time.perf_counter()
            steps.take()
            _print(json.dumps({"images": ranks.size() * BATCH, "seconds": time.perf_counter() - started}))


def _next_step() -> bool:
    """Return on every rank whether rank zero has read `step`."""
    line = sys.stdin.readline() if ranks.rank() == 0 else ""
    return bool(ranks.current().broadcast(line == "step\n", "line"))


def _print(line: str) -> None:
    if ranks.rank() == 0:
        print(line, flush=True)


main()
