"""ResNet-50 with PyTorch on one GPU: `make bench-gpu`.

Images a second from noise and from JPEG images, the share of the input, the largest batch, and the decoders. Without a
GPU it says so, and measures nothing.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.launched_ranks import ROOT

FIRST_BATCH = 64
NO_GPU = "no GPU here: nothing is measured"

Trial = Callable[..., dict[str, Any]]
"""Runs `benchmarks.gpu_trial` with these arguments and returns its results."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that the memory holds."""

    size: int
    images_per_second: float
    gib: float


def main(trial: Trial) -> None:
    """Print a line for each measurement."""
    device = trial("device")
    if device["gpu"] is None:
        print(NO_GPU)
        return
    print(f"{device['gpu']}, {device['gib']:.0f} GiB, beside {device['cores']} cores")
    batches = batches_that_fit(trial)
    if not batches:
        sys.exit(f"error: not even {FIRST_BATCH} images fit into the memory; end what else uses the GPU")
    largest, fastest = batches[-1], max(batches, key=lambda each: each.images_per_second)
    print(f"largest batch, by doubling: {largest.size} images, {largest.gib:.1f} GiB")
    print(f"noise on the GPU: {fastest.images_per_second:,.0f} images/s, {fastest.size} images a step")
    with tempfile.TemporaryDirectory() as folder:
        made = trial("images", folder)
        found = trial("train", str(fastest.size), folder)
        decoders = trial("decode", folder)
    if found["out_of_memory"]:
        sys.exit(f"error: {fastest.size} images fit as noise, but not as files")
    rate = found["images_per_second"]
    print(f"{made['images']} JPEG images of {made['kilobytes']:.0f} KB: {rate:,.0f} images/s, the same step")
    print(f"the input's share of a step: {input_share(fastest.images_per_second, rate):.0%}")
    print(
        f"decoding: nvJPEG {decoders['gpu']:,.0f} images/s, Pillow {decoders['one_core']:,.0f} on one core and "
        f"{decoders['all_cores']:,.0f} on all"
    )


def batches_that_fit(trial: Trial) -> list[Batch]:
    """Return the batches from the first on, each twice as large, up to the largest that the memory holds."""
    batches: list[Batch] = []
    size = FIRST_BATCH
    while not (found := trial("train", str(size)))["out_of_memory"]:
        batches.append(Batch(size, found["images_per_second"], found["gib"]))
        size *= 2
    return batches


def input_share(from_noise: float, from_files: float) -> float:
    """Return the part of a step in which the GPU waits for images; 0 where both are as fast."""
    return max(0.0, 1 - from_files / from_noise)


def run_trial(*arguments: str) -> dict[str, Any]:
    """Measure in another process, and end the program if that fails."""
    command = [sys.executable, "-m", "benchmarks.gpu_trial", *arguments]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(f"error: {' '.join(command)} ended with {ended.returncode}")
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main(run_trial)
