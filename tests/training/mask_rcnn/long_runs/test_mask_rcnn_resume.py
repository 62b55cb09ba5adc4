"""Mask R-CNN that is killed, resumed, and resumed with other ranks."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.training.mask_rcnn.run_files import last, results, same
from tests.training.mpirun import Run


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
