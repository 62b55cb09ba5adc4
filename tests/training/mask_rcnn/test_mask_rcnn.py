"""The program on two ranks, with a tiny network and small shapes: from the images to the mAP."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.mask_rcnn.run_files import results
from tests.training.mpirun import Run

pytestmark = pytest.mark.whole_run


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


def test_rejects_a_folder_that_is_no_converted_dataset(
    launch: Callable[..., Run], arguments: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    run = launch(1, *arguments(tmp_path / "run"), "--data-dir", tmp_path, output=tmp_path)
    assert run.code == 2
    assert f"error: '--data-dir' is {tmp_path}, which has no categories.json" in run.stderr
    assert "Traceback" not in run.stderr


def test_an_evaluation_without_a_checkpoint_is_a_users_error(
    launch: Callable[..., Run], evaluation: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    run = launch(1, *evaluation(tmp_path), output=tmp_path)
    assert run.code == 2
    assert f"error: '--output-dir' is {tmp_path}, which has no checkpoint; give the folder of a run" in run.stderr
