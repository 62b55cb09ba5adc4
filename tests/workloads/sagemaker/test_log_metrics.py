"""Lines as the programs print them; tests/training/runtime/test_metrics_of_lines.py has their code."""

import re

import pytest

from training_workloads.sagemaker.log_metrics import METRICS, metric_definitions

#: Recorded from `python -m training.digits --epochs 4 --warmup-epochs 1` on a CPU.
DIGITS = "epoch 2/4: loss 0.7666, test accuracy 0.9500, 1240 images/s (187 by wall clock)"

STEPS = (
    "[1,0]<stdout>:epoch 1/90, step 100: loss 6.9077, learning rate 0.8533, 17250 images/s, 3% of the time waiting for "
    "images"
)
WARM_UP = "epoch 1/90, step 1: loss 6.9, learning rate 0.1, 42 images/s while it compiles and warms up"
IMAGENET = (
    "epoch 3/90: loss 2.5311, top-1 0.4402, top-5 0.6931 of 50,000 images, 17400 images/s (16800 by wall clock), half "
    "of the steps in 235 ms and 99 % in 260 ms"
)
COCO = (
    "epoch 24/24: loss 0.7015 (rpn class 0.0301, box 0.2113), box AP 0.3825, mask AP 0.3508 of 5,000 images, 0.13 "
    "images/s (0.1 by wall clock)"
)
SHORT_RUN = "epoch 2/2: loss 0.5000, 7 images/s with compilation and warm-up (3 by wall clock)"


def found(line: str) -> dict[str, float]:
    matches = {name: re.search(expression, line) for name, expression in METRICS.items()}
    return {name: float(match[1]) for name, match in matches.items() if match}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (DIGITS, {"loss": 0.7666, "accuracy": 0.95, "images_per_second": 1240}),
        (STEPS, {"loss": 6.9077, "learning_rate": 0.8533, "images_per_second": 17250, "data_wait_percent": 3}),
        (WARM_UP, {"loss": 6.9, "learning_rate": 0.1}),
        (IMAGENET, {"loss": 2.5311, "accuracy": 0.4402, "top5_accuracy": 0.6931, "images_per_second": 17400}),
        (COCO, {"loss": 0.7015, "box_AP": 0.3825, "mask_AP": 0.3508, "images_per_second": 0.13}),
        (SHORT_RUN, {"loss": 0.5}),
        ("epoch 1/2, step 9: loss 1e-05, learning rate 1.5e-05, 9 images/s, 0% of the time waiting for images, 2 steps "
         "in a row whose gradients are not finite",
         {"loss": 1e-5, "learning_rate": 1.5e-5, "images_per_second": 9, "data_wait_percent": 0}),
        ("epoch 1/2: 12 images/s (3 by wall clock)", {"images_per_second": 12}),
        ("epoch 1/2, step 9: loss nan, learning rate 0.1, 9 images/s, 1% of the time waiting for images",
         {"learning_rate": 0.1, "images_per_second": 9, "data_wait_percent": 1}),
        ("[####......] 800/2,000 images, 10 images/s, 2.0 minutes left", {}),
        ("steps: 1437 training images / 16, rounded up, = 90 per epoch; x 4 epochs = 360", {}),
    ],
)  # fmt: skip
def test_the_metrics_of_a_line(line: str, values: dict[str, float]) -> None:
    assert found(line) == values


def test_a_request_has_every_metric() -> None:
    assert metric_definitions()[0] == {"Name": "loss", "Regex": METRICS["loss"]}
    assert len(metric_definitions()) == len(METRICS)
