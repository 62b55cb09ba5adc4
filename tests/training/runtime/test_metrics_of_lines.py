"""SageMaker's metrics are found in what the programs' own code prints."""

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from training.imagenet.classification import accuracy_of_ranks
from training.mask_rcnn.evaluation import evaluation
from training.runtime import lines
from training.runtime.lines import Lines
from training.runtime.loss_sum import LossSum
from training.runtime.position import Position
from training.runtime.progress import Exchanged
from training.runtime.task import Evaluation, LossCurves


def metrics() -> dict[str, str]:
    # `training/` imports no package of the jobs, and the environment of the training has not what they need.
    path = Path(__file__).parents[3] / "workloads/training_workloads/sagemaker/log_metrics.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, str] = module.METRICS
    return found


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    shown: list[str] = []
    monkeypatch.setattr(lines, "say", shown.append)
    monkeypatch.setattr(lines, "Curves", lambda output: SimpleNamespace(add=lambda step, values: None))
    return shown


def printer(*, warming_up: bool = False) -> Lines:
    plan = SimpleNamespace(output=None, detailed=True, epochs=90)
    task: Any = SimpleNamespace(
        plan=plan,
        rate=lambda position: 0.8533,
        loss_curves=LossCurves(total="loss"),
        optimizer=None,
    )
    throughput = SimpleNamespace(warming_up=warming_up)
    steps: Any = SimpleNamespace(throughput=throughput, bad=0)
    return Lines(task, steps)


def values(line: str) -> dict[str, float]:
    matches = {name: re.search(expression, line) for name, expression in metrics().items()}
    return {name: float(match[1]) for name, match in matches.items() if match}


def after_epoch(evaluated: Evaluation | None) -> None:
    figures = {
        "step_milliseconds": {"p50": 235.1, "p90": 240.0, "p99": 260.4},
        "wall_images_per_second": 16_800.2,
        "images_per_second": 17_400.4,
    }
    printer().after_epoch(Position(epoch=3), {"training": 2.53111}, evaluated, figures)


def test_of_an_epoch_on_imagenet(said: list[str]) -> None:
    after_epoch(accuracy_of_ranks(np.array([50_000, 22_011, 34_656])))
    assert values(said[0]) == {
        "loss": 2.5311,
        "accuracy": 0.4402,
        "top5_accuracy": 0.6931,
        "images_per_second": 17400,
    }


def test_of_an_epoch_on_coco(said: list[str]) -> None:
    after_epoch(evaluation(5_000, {"bbox/AP": 0.38251, "segm/AP": 0.35082}))
    assert values(said[0]) == {"loss": 2.5311, "box_AP": 0.3825, "mask_AP": 0.3508, "images_per_second": 17400}


@pytest.mark.parametrize("warming_up", [False, True])
def test_of_some_steps(said: list[str], warming_up: bool) -> None:
    losses = LossSum()
    losses.add({"training": 6.90774}, 1)
    speeds, waits = np.array([8625.2, 8625.2]), np.array([0.01, 0.034])
    exchanged = Exchanged(stop=False, due=(), losses=losses, finite_losses=losses, speeds=speeds, waits=waits)
    printer(warming_up=warming_up).after_steps(Position(step=100), exchanged)
    # The speed while the graph is compiled is not that of the run.
    steady = {} if warming_up else {"images_per_second": 17250, "data_wait_percent": 3}
    assert values(said[0]) == {"loss": 6.9077, "learning_rate": 0.8533, **steady}
