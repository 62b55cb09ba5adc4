"""What a second rank brings; `make bench-scaling`.

The same steps of ResNet-50 on one rank and on two, each bound to a core of its own, in turn. Steps of seconds: it is
the network that takes the time, as on a GPU, and the gradients that cost the rest.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.ranks import run

ROUNDS = 3
LEAST = 1.9

BATCH, STEPS = 32, 5


def main() -> None:
    """Prints the throughputs, their ratio and the share of the all-reduce; the exit code is 1 below the bar."""
    speeds: dict[int, list[float]] = {1: [], 2: []}
    shares = []
    for _ in range(ROUNDS):
        for ranks, values in speeds.items():
            with tempfile.TemporaryDirectory() as folder:
                timeline = Path(folder) / "timeline.json"
                seconds = step_seconds(ranks, timeline)
                values.append(ranks * BATCH * len(seconds) / sum(seconds))
                if ranks == 2:
                    shares.append(all_reduce_seconds(timeline) / sum(seconds))
    for ranks, values in speeds.items():
        spread = f"[{min(values):.2f} to {max(values):.2f}]"
        print(f"{ranks} rank{'s' * (ranks > 1)}: {statistics.median(values):.2f} images/s {spread}")
    ratio = statistics.median(speeds[2]) / statistics.median(speeds[1])
    print(f"all-reduce: {statistics.median(shares):.1%} of a step by Horovod's timeline, some of it during computation")
    print(f"two ranks / one: {ratio:.2f}, median of {ROUNDS} rounds of {STEPS} steps each; the bar is {LEAST}")
    if ratio < LEAST:
        sys.exit(f"error: {ratio:.3f} x is less than {LEAST} x")


def step_seconds(ranks: int, timeline: Path) -> list[float]:
    """Seconds of each step, on as many ranks."""
    variables = {"TF_CPP_MIN_LOG_LEVEL": "3", "HOROVOD_TIMELINE": "DYNAMIC"}
    arguments = ["-m", "benchmarks.scaling_rank", str(timeline)]
    printed = run(ranks, arguments, bind_to="core", output=subprocess.PIPE, **variables)
    return json.loads(printed.splitlines()[-1])


def all_reduce_seconds(timeline: Path) -> float:
    """Seconds in which rank 0 was adding gradients up, without the waiting for others that comes before."""
    # The file is written as it goes: a list without its end.
    events = json.loads(timeline.read_text().rstrip().rstrip(",").removesuffix("]") + "]")
    # Of each tensor: the activities that it is in, one in another.
    inside: dict[int, list[tuple[str, float]]] = defaultdict(list)
    spans = []
    for event in events:
        if event["ph"] == "B":
            inside[event["pid"]].append((event["name"], event["ts"]))
        elif event["ph"] == "E":
            name, begin = inside[event["pid"]].pop()
            if name == "ALLREDUCE":
                spans.append((begin, event["ts"]))
    total, covered = 0.0, 0.0
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, covered))
        covered = max(covered, end)
    return total / 1e6


main()
