"""The speed of two ranks compared with one: `make bench-scaling`, and `make bench-torch-scaling` with PyTorch.

The same step of ResNet-50 by one rank and by two, each bound to one core, in turn: a shared machine is a fifth slower
in one minute than in the next. Steps take seconds: the network takes the time, as on a GPU, and the gradients cost the
rest. The three ranks hold 5 GB each. How long the gradients take is known from Horovod's timeline only.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.launched_ranks import finish, start_mpi, start_torch

TURNS = 12
LEAST = 1.9


def main() -> None:
    """Print the throughputs, their ratio and the share of the all-reduce; the exit code is 1 below the bar."""
    torch = sys.argv[1:] == ["--torch"]
    with tempfile.TemporaryDirectory() as folder:
        timelines = {size: Path(folder) / f"{size}.json" for size in (1, 2)}
        jobs = {size: _start_torch(size) if torch else _start(size, timeline) for size, timeline in timelines.items()}
        turns = [{size: _step(job) for size, job in jobs.items()} for _ in range(TURNS)]
        for job in jobs.values():
            # mpirun does not forward the end of its input.
            _send(job, "end")
            finish(job)
        adding_up = None if torch else all_reduce_seconds(timelines[2])
    for size in jobs:
        speeds = [turn[size]["images"] / turn[size]["seconds"] for turn in turns]
        spread = f"[{min(speeds):.2f} to {max(speeds):.2f}]"
        print(f"{size} rank{'s' * (size > 1)}: {statistics.median(speeds):.2f} images/s {spread}")
    ratio = statistics.median(2 * turn[1]["seconds"] / turn[2]["seconds"] for turn in turns)
    if adding_up is not None:
        share = adding_up / sum(turn[2]["seconds"] for turn in turns)
        print(f"all-reduce: {share:.1%} of a step by Horovod's timeline, some of it during computation")
    print(f"two ranks / one: {ratio:.2f}, median of {TURNS} pairs of steps; the bar is {LEAST}")
    if ratio < LEAST:
        sys.exit(f"error: {ratio:.3f} x is less than {LEAST} x")


def _start(size: int, timeline: Path) -> subprocess.Popen[str]:
    """Return ranks that have warmed up and wait for `_step`."""
    variables = {"TF_CPP_MIN_LOG_LEVEL": "3", "HOROVOD_TIMELINE": "DYNAMIC"}
    arguments = ["-m", "benchmarks.scaling_rank", str(timeline)]
    job = start_mpi(size, arguments, bind_to="core", pipes=subprocess.PIPE, **variables)
    _line(job)
    return job


def _start_torch(size: int) -> subprocess.Popen[str]:
    job = start_torch(size, ["-m", "benchmarks.torch_scaling_rank"], pipes=subprocess.PIPE)
    _line(job)
    return job


def _step(job: subprocess.Popen[str]) -> dict[str, float]:
    """Let the ranks take a step and return its `images` over all ranks and its `seconds`."""
    _send(job, "step")
    took: dict[str, float] = json.loads(_line(job))
    return took


def _send(job: subprocess.Popen[str], line: str) -> None:
    assert job.stdin
    job.stdin.write(f"{line}\n")
    job.stdin.flush()


def _line(job: subprocess.Popen[str]) -> str:
    assert job.stdout
    line = job.stdout.readline()
    if not line:
        finish(job)
    return line


def all_reduce_seconds(timeline: Path) -> float:
    """Return the seconds in which rank zero added up gradients, without the wait for other ranks before."""
    # Horovod writes the file continuously: a list without its end.
    events = json.loads(timeline.read_text().rstrip().rstrip(",").removesuffix("]") + "]")
    # Of each tensor: its activities so far, one in another.
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
