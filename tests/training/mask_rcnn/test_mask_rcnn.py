"""The program on two ranks, with a tiny network and small shapes: from the images to the mAP."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.mpirun import PATIENCE, ROOT, Run, end, start
from training.runtime import checkpoint

_PROGRAM = ["-m", "tests.training.mask_rcnn.tiny_mask_rcnn"]
# 24 images on two ranks: a bucket of landscape and one of portrait images, which have one padded shape.
_OPTIONS = ["--architecture", "small", "--short-side", "64", "--long-side", "64", "--batch-size", "2", "--epochs", "3"]
_OPTIONS += ["--warmup-steps", "4", "--checkpoint-every", "2steps", "--evaluate-every", "3epochs", "--deterministic"]


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
def arguments(shapes: Path) -> Callable[[Path], list[str]]:
    def of(output: Path) -> list[str]:
        return [*_PROGRAM, "train", "--data-dir", str(shapes), "--output-dir", str(output), *_OPTIONS]

    return of


@pytest.fixture(scope="module")
def evaluation(shapes: Path) -> Callable[[Path], list[str]]:
    def of(output: Path) -> list[str]:
        return [*_PROGRAM, "evaluate", "--data-dir", str(shapes), "--output-dir", str(output)]

    return of


@pytest.fixture(scope="module")
def finished(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    output = tmp_path_factory.mktemp("runs") / "finished"
    run = launch(2, *arguments(output), output=output)
    assert run.code == 0, run.stderr
    return run


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


def test_prints_its_arithmetic_first(finished: Run) -> None:
    lines = finished.stdout.splitlines()
    assert lines[0] == "ranks: 2, of them 2 on the machine of rank 0, which computes on: cpu, in float32"
    assert lines[1] == "data: 24 images to train on, 6 to test with, 4 categories"
    assert lines[3:7] == [
        "network: small, 4 categories; backbone from random",
        "batch: 2 images per rank x 2 ranks = 4 images per step",
        "steps: 24 training images / 4, rounded down, = 6 per epoch at most; x 3 epochs = 18",
        "learning rate (reference): 0.01 x 4 / 8 = 0.005, reached over 4 steps, a tenth after epoch 2, a hundredth "
        "after 2.66667; momentum 0.9, weight decay 0.0001",
    ]


def test_results_have_all_numbers_of_boxes_and_masks(finished: Run) -> None:
    found = results(finished.output)
    names = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
    assert {f"{kind}/{name}" for kind in ("bbox", "segm") for name in names} <= found.keys()
    assert found["evaluated_images"] == 6
    assert 0 <= found["segm/AP"] <= 1
    assert found["world_size"] == 2
    losses = found["history"][-1]["loss"]
    assert losses.keys() == {"training", "rpn_cls", "rpn_loc", "cls", "box_reg", "mask"}
    parts = [value for name, value in losses.items() if name != "training"]
    assert losses["training"] == pytest.approx(sum(parts), abs=1e-5)
    assert found["history"][-1]["accuracy"].keys() == {"box AP", "mask AP"}
    # What it learns in three epochs.
    assert losses["training"] < found["history"][0]["loss"]["training"]


def test_one_rank_writes_the_files_and_the_curves_have_the_names_that_people_know(finished: Run) -> None:
    names = [".run-lock", "checkpoints", "curve.svg", "model.keras", "predictions.png", "results.json", "tensorboard"]
    assert sorted(path.name for path in finished.output.iterdir()) == names
    assert "warning:" not in finished.stderr
    (events,) = (finished.output / "tensorboard").iterdir()
    content = events.read_bytes()
    for curve in ("bbox/AP", "bbox/AP50", "segm/AP", "segm/AP75", "total_loss", "loss_rpn_cls", "loss_rpn_loc"):
        assert curve.encode() in content
    for curve in ("loss_cls", "loss_box_reg", "loss_mask", "learning rate", "images per second"):
        assert curve.encode() in content


def test_the_picture_has_a_truth_and_a_prediction_of_each_image(finished: Run) -> None:
    content = (finished.output / "predictions.png").read_bytes()
    assert content.startswith(b"\x89PNG")


def test_a_killed_run_resumes_to_the_same_weights_as_an_uninterrupted_one(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    killed = launch(2, *arguments(tmp_path), output=tmp_path, kill_at="step 9:")
    assert killed.code != 0
    assert not (tmp_path / "results.json").exists()
    resumed = launch(2, *arguments(tmp_path), output=tmp_path)
    assert resumed.code == 0, resumed.stderr
    assert "resuming after step " in resumed.stdout
    assert same(tmp_path, finished.output)
    kept = ("bbox/AP", "segm/AP", "segm/AR100", "history")
    assert {name: results(tmp_path)[name] for name in kept} == {name: results(finished.output)[name] for name in kept}


def test_half_as_many_ranks_resume_with_half_the_learning_rate_and_the_rest_of_the_epoch(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = shutil.copytree(finished.output, tmp_path / "run")
    for path in sorted((output / "checkpoints").glob("step-*"))[1:]:
        path.unlink()
    before = last(output).step
    run = launch(1, *arguments(output), output=output)
    assert run.code == 0, run.stderr
    assert f"resuming after step {before}, " in run.stdout
    assert "written by 2 ranks, now 1" in run.stdout
    assert "learning rate (reference): 0.01 x 2 / 8 = 0.0025" in run.stdout
    assert (results(output)["world_size"], results(output)["evaluated_images"]) == (1, 6)


def test_rejects_to_resume_with_another_network(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], finished: Run
) -> None:
    run = launch(1, *arguments(finished.output), "--short-side", "48", output=finished.output)
    assert run.code == 2
    assert "'--short-side' is 48, but the checkpoints in" in run.stderr


def test_rejects_a_folder_that_is_no_converted_dataset(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    run = launch(1, *arguments(tmp_path / "run"), "--data-dir", tmp_path, output=tmp_path)
    assert run.code == 2
    assert f"error: '--data-dir' is {tmp_path}, which has no categories.json" in run.stderr
    assert "Traceback" not in run.stderr


def test_an_evaluation_alone_finds_what_the_run_has_found(
    launch: Callable[..., Run], evaluation: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = shutil.copytree(finished.output, tmp_path / "run")
    run = launch(1, *evaluation(output), output=output)
    assert run.code == 0, run.stderr
    (point,) = points(output)
    expected = results(output)
    assert (point["step"], point["epoch"]) == (expected["steps"], 3)
    measured = {name: value for name, value in point.items() if "/" in name}
    assert measured == {
        name: pytest.approx(expected[name], abs=1e-4) if expected[name] is not None else None for name in measured
    }
    assert len(measured) == 24
    # Beside the file of the training, of which TensorBoard reads one a folder.
    (events,) = (output / "tensorboard/evaluation").iterdir()
    assert b"segm/AP" in events.read_bytes()
    again = launch(1, *evaluation(output), output=output)
    assert (again.code, points(output)) == (0, [point])
    assert "checkpoint of step" not in again.stdout


def test_a_watching_evaluation_tests_each_new_checkpoint_until_the_last(
    evaluation: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    output = shutil.copytree(finished.output, tmp_path / "run")
    present = sorted((output / "checkpoints").glob("step-*"))
    newest = present[-1].rename(tmp_path / present[-1].name)
    process = start(2, [*evaluation(output), "--watch"], tmp_path / "logs")
    try:
        deadline = time.monotonic() + PATIENCE
        while not (output / "evaluations.json").exists():
            assert process.poll() is None, (tmp_path / "logs/stderr").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # As a run does it: the oldest goes when the newest is there.
        newest.rename(output / "checkpoints" / newest.name)
        present[0].unlink()
        assert process.wait(timeout=PATIENCE) == 0, (tmp_path / "logs/stderr").read_text()
    finally:
        end(process)
    steps = [checkpoint.step_of(path) for path in present[-2:]]
    assert [point["step"] for point in points(output)] == steps


def test_an_evaluation_without_a_checkpoint_is_a_users_error(
    launch: Callable[..., Run], evaluation: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    run = launch(1, *evaluation(tmp_path), output=tmp_path)
    assert run.code == 2
    assert f"error: '--output-dir' is {tmp_path}, which has no checkpoint; give the folder of a run" in run.stderr
