import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from setup.source_tree import ROOT
from tests.workloads.cluster.conftest import Program, indexed
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster, Log
from training_workloads.mpijob.programs import PROGRESS_SPEED

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]

PREDICTION = {"training-cluster/prediction": '{"gpus": 16, "images_per_second": 33861}'}
LOSSES = "[1,0]<stdout>:epoch 1/90, step {step}: loss 6.9000, learning rate 0.0512"
STEADY = f"{LOSSES}, {{speed}} images/s, 0% of the time waiting for images"
WARM_UP = f"{LOSSES.format(step=1)}, 212 images/s while it compiles and warms up"


@pytest.fixture
def running(cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> Callable[..., None]:
    """Add a job that runs, with the lines of its launcher's log, one every ten seconds until 90 seconds ago."""

    def add(*texts: str, state: str = "Running", **annotations: str) -> None:
        cluster.add(mpi_job("resnet50", state), annotations=annotations)
        cluster.add(pod("resnet50-launcher-a", "launcher", job="resnet50"))
        last = datetime.now(UTC) - timedelta(seconds=90)
        times = [last - timedelta(seconds=10 * place) for place in reversed(range(len(texts)))]
        lines = [(f"{time:%Y-%m-%dT%H:%M:%S.%f}000Z", text) for time, text in zip(times, texts, strict=True)]
        cluster.logs["resnet50-launcher-a"] = Log(lines)

    return add


def shown(program: Program) -> str | None:
    result = program("status", "resnet50")
    assert (result.code, result.err) == (0, "")
    return next((line for line in result.out.splitlines() if line.startswith("speed: ")), None)


def test_the_newest_speed_beside_the_predicted_one(program: Program, running: Callable[..., None]) -> None:
    running(
        WARM_UP, STEADY.format(step=20, speed="9,000"), STEADY.format(step=90, speed="31,240"), "other", **PREDICTION
    )
    text = shown(program)
    assert text is not None
    # The age is that of the line, whose second the test does not know.
    assert text.startswith("speed: 31,240 images/s 1m4")
    assert text.endswith(" ago, 92% of the 33,861 predicted")
    speed = json.loads(program("status", "resnet50", "--json").out)["speed"]
    assert (speed["images_per_second"], speed["predicted_images_per_second"]) == (31_240, 33_861)
    assert datetime.fromisoformat(speed["at"]) < datetime.now(UTC)


def test_the_speed_of_torchrun_is_that_of_worker_zero(
    program: Program, cluster: FakeCluster, torch_job: MpiJob, pod: MakePod
) -> None:
    cluster.add(torch_job("resnet50"))
    for number, speed in enumerate(("9,000", "1")):
        name = f"resnet50-{number}"
        cluster.add(indexed(pod(name, "worker", job="resnet50", second=number), number, "resnet50"))
        text = STEADY.format(step=20, speed=speed).removeprefix("[1,0]<stdout>:")
        cluster.logs[name] = Log([("2026-11-21T10:01:00.000000000Z", text)])
    assert (shown(program) or "").startswith("speed: 9,000 images/s ")


def test_a_job_without_a_prediction_has_its_speed(program: Program, running: Callable[..., None]) -> None:
    running(STEADY.format(step=20, speed="9.5"))
    assert (shown(program) or "").startswith("speed: 9.5 images/s 1m3")
    assert "predicted" not in (shown(program) or "")


def test_the_warm_up_is_no_speed(program: Program, running: Callable[..., None]) -> None:
    running(WARM_UP, **PREDICTION)
    assert shown(program) == "speed: 33,861 images/s predicted, none measured yet"


def test_a_job_that_ended_without_a_speed_has_none(program: Program, running: Callable[..., None]) -> None:
    running(WARM_UP, state="Failed", **PREDICTION)
    assert shown(program) is None


@pytest.mark.parametrize(
    "value",
    [
        # The job has 16 ranks.
        '{"gpus": 8, "images_per_second": 33861}',
        '{"gpus": 16}',
        '{"gpus": 16, "images_per_second": "many"}',
        '{"gpus": 16, "images_per_second": 0}',
        '{"gpus": 16, "images_per_second": Infinity}',
        f'{{"gpus": 16, "images_per_second": {10**400}}}',
        "33861",
        "[]",
        "about 33861",
        "",
    ],
)
def test_a_prediction_for_another_job_is_not_shown(program: Program, running: Callable[..., None], value: str) -> None:
    running(WARM_UP, **{"training-cluster/prediction": value})
    assert shown(program) is None
    assert json.loads(program("status", "resnet50", "--json").out)["speed"] is None


def test_only_the_end_of_a_long_log_is_read(program: Program, running: Callable[..., None]) -> None:
    running(STEADY.format(step=20, speed="9,000"), *["NCCL INFO"] * 500)
    assert shown(program) is None


def test_a_log_that_cannot_be_read_leaves_the_prediction(
    program: Program, running: Callable[..., None], cluster: FakeCluster
) -> None:
    running(STEADY.format(step=20, speed="9,000"), **PREDICTION)
    cluster.failures.append(Failure(403, "/log", "GET", message="forbidden"))
    assert shown(program) == "speed: 33,861 images/s predicted, none measured yet"


@pytest.mark.parametrize("printed", ["31,240", "1,031,240", "9.5", "0.012", "1.2e-05"])
def test_every_form_of_a_speed_is_read(printed: str) -> None:
    match = PROGRESS_SPEED.search(STEADY.format(step=20, speed=printed))
    assert match is not None
    assert match["speed"] == printed


def test_the_programs_print_what_is_looked_for() -> None:
    lines = (ROOT / "training/runtime/lines.py").read_text()
    assert 'f"epoch {position.epoch + 1}/{self._plan.epochs}, step {position.step}: {loss_words(losses)}, "' in lines
    assert '", {rate(speed)} images/s, {waited:.0%} of the time waiting for images"' in lines
    assert '", {rate(speed)} images/s while it compiles and warms up"' in lines


def test_the_cost_of_a_run_with_a_cap(program: Program, running: Callable[..., None]) -> None:
    running("cost: $0.00 of $1,500.00, at $43.92 an hour", "cost: $1,234.50 of $1,500.00, at $43.92 an hour", "other")
    result = program("status", "resnet50")
    (line,) = (line for line in result.out.splitlines() if line.startswith("cost: "))
    assert line.startswith("cost: $1,234.50 of $1,500.00 1m4")
    assert line.endswith(" ago, at $43.92 an hour")
    cost = json.loads(program("status", "resnet50", "--json").out)["cost"]
    assert (cost["usd"], cost["most"], cost["usd_per_hour"]) == (1234.5, 1500.0, 43.92)


def test_a_run_without_a_cap_has_no_cost(program: Program, running: Callable[..., None]) -> None:
    running(STEADY.format(step=20, speed="9.5"))
    assert "cost:" not in program("status", "resnet50").out
