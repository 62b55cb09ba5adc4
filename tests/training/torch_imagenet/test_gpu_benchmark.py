"""The benchmark of one GPU, without one: its arithmetic with a GPU that is made up, and its steps on the CPU."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import gpu, gpu_trial
from benchmarks.torch_steps import Steps
from tests.training.mpirun import ROOT

FOUND: dict[str, dict[str, Any]] = {
    "device": {"gpu": "Made Up 1", "gib": 16.0, "cores": 8},
    "images": {"images": 1024, "kilobytes": 95.2},
    "decode": {"gpu": 4000.0, "one_core": 150.0, "all_cores": 900.0},
}
# By batch, from noise: 256 are slower than 128, and 512 do not fit.
NOISE = {64: 900.0, 128: 1200.0, 256: 1100.0}


def measured(asked: list[Sequence[str]], *arguments: str) -> dict[str, Any]:
    asked.append(arguments)
    what, *rest = arguments
    if what != "train":
        return FOUND[what]
    size = int(rest[0])
    if size not in NOISE:
        return {"out_of_memory": True}
    return {"out_of_memory": False, "images_per_second": 900.0 if rest[1:] else NOISE[size], "gib": size / 20}


def test_prints_rates_the_inputs_share_and_the_largest_batch(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Sequence[str]] = []
    gpu.main(lambda *arguments: measured(asked, *arguments))
    assert capsys.readouterr().out.splitlines() == [
        "Made Up 1, 16 GiB, beside 8 cores",
        "largest batch, by doubling: 256 images, 12.8 GiB",
        "noise on the GPU: 1,200 images/s, 128 images a step",
        "1024 JPEG images of 95 KB: 900 images/s, the same step",
        "the input's share of a step: 25%",
        "decoding: nvJPEG 4,000 images/s, Pillow 150 on one core and 900 on all",
    ]
    assert [each[1] for each in asked if each[0] == "train"] == ["64", "128", "256", "512", "128"]


def test_an_input_that_is_as_fast_as_noise_has_no_share() -> None:
    assert gpu.input_share(100.0, 101.0) == 0.0


def test_a_gpu_without_room_for_the_first_batch_is_an_error() -> None:
    def full(*arguments: str) -> dict[str, Any]:
        return FOUND["device"] if arguments == ("device",) else {"out_of_memory": True}

    with pytest.raises(SystemExit, match="not even 64 images fit into the memory"):
        gpu.main(full)


def test_says_so_without_a_gpu() -> None:
    hidden = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "benchmarks.gpu"]
    ended = subprocess.run(command, cwd=ROOT, env=hidden, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "no GPU here: nothing is measured\n"), ended.stderr


def test_a_measurement_that_fails_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match=r"benchmarks.gpu_trial train none ended with 1"):
        gpu.run_trial("train", "none")


def test_a_batch_that_does_not_fit_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(gpu_trial, "Steps", full)
    assert gpu_trial.train(64, None) == {"out_of_memory": True}


def test_steps_are_taken_from_noise_and_from_made_images(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_trial, "IMAGES", 3)
    monkeypatch.setattr(sys, "argv", ["gpu_trial", "images", str(tmp_path)])
    gpu_trial.main()
    made = json.loads(capsys.readouterr().out)
    # As ImageNet's photographs: 110 KB on average.
    assert made["images"] == 3
    assert 80 < made["kilobytes"] < 110
    monkeypatch.setenv("TRAINING_DATA_THREADS", "1")
    for folder in (None, tmp_path):
        steps = Steps(torch.device("cpu"), batch=2, image_size=32, data_dir=folder)
        # About ln(1000), and 8 with two images for batch normalization.
        assert 6 < steps.take() < 10
