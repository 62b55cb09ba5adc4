import json
from pathlib import Path
from typing import Any

import pytest

from training_workloads.recipes import recipe
from training_workloads.run_local.local_plan import LocalRun
from training_workloads.sagemaker.local_run import plan_sagemaker_run
from training_workloads.validation import InputError


def planned(name: str, tmp_path: Path, **changes: Any) -> LocalRun:
    for path in ("data/imagenet", "data/coco", "runs/resnet50-p3dn/model.keras"):
        (tmp_path / "volumes" / path).mkdir(parents=True, exist_ok=True)
    return plan_sagemaker_run(recipe(name), tmp_path / "volumes", tmp_path / "ml", **changes)


def test_the_entry_point_gets_what_sagemaker_writes(tmp_path: Path) -> None:
    run = planned("resnet50-p3dn", tmp_path)
    ml = tmp_path / "ml"
    start = ("-m", "training.pods.sagemaker", "--root", str(ml), "--processes-per-host", "2", "--", "python")
    assert run.command[run.command.index("-m") :][: len(start)] == start
    config = ml / "input/config"
    assert json.loads((config / "resourceconfig.json").read_text())["hosts"] == ["localhost"]
    given = json.loads((config / "hyperparameters.json").read_text())
    assert given["data-dir"] == f"{ml}/input/data/training"
    assert given["output-dir"] == f"{ml}/checkpoints"
    assert (ml / "input/data/training").readlink() == tmp_path / "volumes/data/imagenet"
    assert (ml / "checkpoints").resolve() == tmp_path / "volumes/runs/resnet50-p3dn"
    assert (run.launcher, run.ranks, run.environment["CUDA_VISIBLE_DEVICES"]) == ("python", 2, "")


def test_a_channel_of_one_file_is_its_folder(tmp_path: Path) -> None:
    run = planned("mask-rcnn-p3dn", tmp_path, ranks=1)
    values = json.loads((tmp_path / "ml/input/config/hyperparameters.json").read_text())
    file = Path(values["backbone"])
    assert (file.parent.readlink() / file.name).is_relative_to(tmp_path / "volumes/runs")
    assert "--processes-per-host 1" in " ".join(run.command)


def test_a_job_of_torchrun_needs_its_environment(tmp_path: Path) -> None:
    run = planned("torch-resnet50-p3dn", tmp_path)
    assert run.launcher == "torchrun"
    assert run.command[run.command.index("--") + 1 :][:2] == ("torchrun", "--no-python")


@pytest.mark.parametrize("name", ["digits-spot", "nccl-p4d"])
def test_a_job_that_sagemaker_cannot_run_is_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SageMaker"):
        planned(name, tmp_path)


def test_no_ranks_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'ranks' is 0"):
        planned("digits", tmp_path, ranks=0)


def test_volumes_without_the_data_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        plan_sagemaker_run(recipe("mask-rcnn-p3dn"), tmp_path, tmp_path / "ml")
    assert [str(problem) for problem in raised.value.problems] == [
        f"'volumes' is '{tmp_path}', but it has no {path}, which the job reads; put it there, or a link to it"
        for path in ("data/coco", "runs/resnet50-p3dn/model.keras")
    ]
