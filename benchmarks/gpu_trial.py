"""One measurement of `make bench-gpu`, as JSON on the last line, in a separate process: memory is free after it.

python -m benchmarks.gpu_trial device
python -m benchmarks.gpu_trial images FOLDER
python -m benchmarks.gpu_trial train BATCH [FOLDER]
python -m benchmarks.gpu_trial decode FOLDER
"""

import io
import json
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from benchmarks.torch_steps import Steps

IMAGE_SIZE, WARM_UP, STEPS = 224, 10, 50
IMAGES, HEIGHT, WIDTH = 1024, 400, 500

# Of a call of nvJPEG, and of a process of the CPU.
_DECODED = 128


def device() -> dict[str, Any]:
    """Return the name of the first GPU; null without one."""
    if not torch.cuda.is_available():
        return {"gpu": None}
    found = torch.cuda.get_device_properties(0)
    return {"gpu": found.name, "gib": found.total_memory / 2**30, "cores": len(os.sched_getaffinity(0))}


def images(folder: Path) -> dict[str, Any]:
    """Write images with soft shapes and noise, with as many bytes as photographs of ImageNet, in one class folder."""
    random, target = np.random.default_rng(0), folder / "train/n01440764"
    target.mkdir(parents=True)
    for number in range(IMAGES):
        shapes = Image.fromarray(random.integers(256, size=(HEIGHT // 16, WIDTH // 16, 3), dtype=np.uint8))
        soft = np.asarray(shapes.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)) * (200 / 255)
        pixels = np.clip(soft + random.normal(20, 11, soft.shape), 0, 255).astype(np.uint8)
        # Halved colour resolution, as cameras do.
        Image.fromarray(pixels).save(target / f"{number:04d}.JPEG", quality=92, subsampling="4:2:0")
    sizes = [path.stat().st_size for path in target.iterdir()]
    return {"images": IMAGES, "kilobytes": sum(sizes) / IMAGES / 1000}


def train(batch: int, folder: Path | None) -> dict[str, Any]:
    """Return the images per second of steps from noise, or from the images of a folder."""
    try:
        steps = Steps(torch.device("cuda", 0), batch=batch, image_size=IMAGE_SIZE, data_dir=folder)
        for _ in range(WARM_UP):
            steps.take()
        started = time.perf_counter()
        for _ in range(STEPS):
            steps.take()
        seconds = time.perf_counter() - started
    except torch.OutOfMemoryError:
        return {"out_of_memory": True}
    peak = torch.cuda.max_memory_reserved() / 2**30
    return {"out_of_memory": False, "images_per_second": STEPS * batch / seconds, "gib": peak}


def decode(folder: Path) -> dict[str, Any]:
    """Return the images per second of nvJPEG, of Pillow on one core, and of Pillow on all cores."""
    jpegs = [path.read_bytes() for path in sorted(folder.rglob("*.JPEG"))]
    parts = [jpegs[first : first + _DECODED] for first in range(0, len(jpegs), _DECODED)]
    # Forked before CUDA starts.
    with multiprocessing.get_context("fork").Pool() as pool:
        pool.map(_pillow, parts)
        several = _rate(lambda: pool.map(_pillow, parts), len(jpegs))
    alone = _rate(lambda: _pillow(parts[0]), len(parts[0]))
    return {"gpu": _nvjpeg(jpegs), "one_core": alone, "all_cores": several}


def _nvjpeg(jpegs: Sequence[bytes]) -> float:
    from torchvision.io import ImageReadMode, decode_jpeg

    tensors = [torch.frombuffer(bytearray(each), dtype=torch.uint8) for each in jpegs]

    def run() -> None:
        for first in range(0, len(tensors), _DECODED):
            decode_jpeg(tensors[first : first + _DECODED], ImageReadMode.RGB, device="cuda")
        torch.cuda.synchronize()

    with warnings.catch_warnings():
        # Of torchvision 0.29, which will remove it.
        warnings.simplefilter("ignore")
        run()
        return _rate(run, len(jpegs))


def _pillow(jpegs: Sequence[bytes]) -> None:
    for jpeg in jpegs:
        with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as opened:
            opened.convert("RGB").load()


def _rate(run: Callable[[], object], count: int) -> float:
    started = time.perf_counter()
    run()
    return count / (time.perf_counter() - started)


def main() -> None:
    """Run the trial that the command line names."""
    trial, *rest = sys.argv[1:]
    if trial == "device":
        found = device()
    elif trial == "images":
        found = images(Path(rest[0]))
    elif trial == "train":
        found = train(int(rest[0]), Path(rest[1]) if rest[1:] else None)
    else:
        found = decode(Path(rest[0]))
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
