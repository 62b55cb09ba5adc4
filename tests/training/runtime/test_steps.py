import math
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from training.runtime.errors import UserError
from training.runtime.every import Every
from training.runtime.steps import Steps
from training.runtime.task import Plan, StepInput

PLAN = Plan(
    output=Path("out"),
    epochs=1,
    batch_size=4,
    training_images=64,
    checkpoint_every=Every(1, "epochs"),
    evaluate_every=Every(1, "epochs"),
    warm_up_steps=0,
)


class Device:
    """Computes a step in the background, as a GPU does: reading a result waits for it."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.idle_at = seconds, 0.0
        self.log: list[str] = []
        self.steps = 0
        self.finite = True
        self.loss = 2.0

    def __call__(self, *_: object) -> tuple[Mapping[str, "Result"], "Result"]:
        self.steps += 1
        self.log.append(f"start {self.steps}")
        self.idle_at = max(self.idle_at, time.perf_counter()) + self.seconds
        return {"training": Result(self, self.loss)}, Result(self, self.finite)


class Result:
    def __init__(self, device: Device, value: float) -> None:
        self.device, self.value, self.step, self.ready_at = device, value, device.steps, device.idle_at

    def __float__(self) -> float:
        self.device.log.append(f"read {self.step}")
        time.sleep(max(0.0, self.ready_at - time.perf_counter()))
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)


def test_a_step_starts_before_the_result_of_the_one_before_is_read() -> None:
    device = Device()
    steps = Steps(PLAN, device)
    for _ in range(3):
        steps.start(StepInput(()), waited=0.0)
    assert device.log == ["start 1", "start 2", "read 1", "start 3", "read 2"]
    steps.finish()
    assert device.log[-1] == "read 3"
    assert steps.losses.means == {"training": 2.0}
    assert steps.losses.weight == 3


def test_every_step_counts_once_in_the_speed_and_takes_as_long_as_the_device() -> None:
    device = Device(seconds=0.05)
    steps = Steps(PLAN, device)
    for _ in range(4):
        steps.start(StepInput(()), waited=0.0)
    steps.finish()
    assert steps.throughput.steps == 4
    assert 0.2 <= steps.throughput.seconds
    milliseconds = steps.throughput.figures()["step_milliseconds"]
    assert milliseconds["p50"] >= 40


def test_a_wait_for_images_counts_only_while_the_device_has_nothing_to_do() -> None:
    busy, idle = Steps(PLAN, Device(seconds=0.2)), Steps(PLAN, Device())
    for steps in (busy, idle):
        steps.restart_clock()
        for _ in range(3):
            before = time.perf_counter()
            time.sleep(0.02)
            steps.start(StepInput(()), waited=time.perf_counter() - before)
        steps.finish()
    # Only the first step found an idle device.
    assert 0 < busy.throughput.figures()["data_wait_share"] < 0.2
    assert idle.throughput.figures()["data_wait_share"] > 0.5


def test_a_part_of_a_batch_counts_as_a_part() -> None:
    steps = Steps(PLAN, Device())
    steps.start(StepInput((), share=0.25), waited=0.0)
    steps.finish()
    assert steps.losses.weight == 0.25
    assert steps.throughput.images_per_second == pytest.approx(1 / steps.throughput.seconds)


def test_a_loss_that_is_not_finite_is_in_one_sum_only() -> None:
    device = Device()
    steps = Steps(PLAN, device)
    for loss in (1.0, math.inf, 3.0):
        device.loss = loss
        steps.start(StepInput(()), waited=0.0)
    steps.finish()
    losses, finite = steps.take_losses()
    assert (losses.means, finite.means) == ({"training": math.inf}, {"training": 2.0})
    assert steps.losses.weight == 0


def test_the_run_ends_at_the_25th_bad_step_in_a_row() -> None:
    device = Device()
    steps = Steps(PLAN, device)
    device.finite = False
    for _ in range(24):
        steps.start(StepInput(()), waited=0.0)
    device.finite = True
    steps.start(StepInput(()), waited=0.0)
    device.finite = False
    for _ in range(25):
        steps.start(StepInput(()), waited=0.0)
    assert steps.bad == 24
    with pytest.raises(UserError) as caught:
        steps.finish()
    assert str(caught.value) == (
        "the gradients of the last 25 steps were not finite; the newest checkpoint in out is good: lower "
        "'--learning-rate' or raise '--warmup-epochs', with another '--output-dir', or check the images"
    )
