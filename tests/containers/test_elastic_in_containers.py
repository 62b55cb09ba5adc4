"""An elastic job in containers: it uses an added worker, and continues without a lost one."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.containers.conftest import Phase
from tests.containers.emulated_mpi_job import POD_SYNC_SECONDS, EmulatedMpiJob
from training_workloads import ElasticHorovodJobSpec, HorovodJobSpec
from training_workloads.recipes import recipe

NAME = "digits-elastic"
# Enough for the second worker to join while the first trains: usually after 8 epochs, once after 158.
EPOCHS = 250


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The job's logs and results, and the workers that its launcher found."""

    succeeded: bool
    logs: list[str]
    results: dict[str, Any]
    discovered: list[str]
    seconds_to_scale: float


def elastic_digits() -> HorovodJobSpec:
    digits = recipe("digits-spot", NAME)
    assert isinstance(digits, ElasticHorovodJobSpec)
    return digits.replaced(command=(*digits.command, "--epochs", str(EPOCHS)), workers=1, max_workers=2)


@pytest.fixture(scope="module")
def outcome(job: Callable[..., EmulatedMpiJob], claim: Callable[[], Path], phase: Phase) -> Outcome:
    lustre, discovered = claim(), []
    with phase("an elastic job, from one worker to two and back"), job(elastic_digits(), lustre) as running:
        running.wait(lambda: "epoch 2/" in running.log(), 240)
        discovered.append(running.launchers[0].execute("/etc/mpi/discover_hosts.sh"))
        scaled = time.monotonic()
        running.scale(2)
        running.wait(lambda: "worker-1" in running.config_map, 60)
        # As `trainctl scale` does.
        running.annotate_launcher()
        running.wait(lambda: "written by 1 ranks, now 2" in running.log(), 240)
        seconds = time.monotonic() - scaled
        discovered.append(running.launchers[0].execute("/etc/mpi/discover_hosts.sh"))
        joined = running.log().count("test accuracy")
        running.wait(lambda: running.log().count("test accuracy") > joined, 60)
        running.workers[1].kill()
        running.wait(lambda: "written by 2 ranks, now 1" in running.log(), 240)
        succeeded = running.run_to_the_end(1200)
        logs = [launcher.log() for launcher in running.launchers]
    results = json.loads((lustre / "runs" / NAME / "results.json").read_text())
    print(*logs, sep="\n")
    return Outcome(succeeded=succeeded, logs=logs, results=results, discovered=discovered, seconds_to_scale=seconds)


def test_one_launcher_runs_the_whole_job(outcome: Outcome) -> None:
    assert outcome.succeeded, outcome.logs
    assert len(outcome.logs) == 1


def test_the_launcher_finds_the_workers_as_they_start(outcome: Outcome) -> None:
    first, second = (f"{NAME}-worker-{index}.{NAME}.default.svc" for index in (0, 1))
    assert outcome.discovered == [first, f"{first}\n{second}"]


def test_the_job_is_scaled_before_the_kubelet_looks_at_the_pod_by_itself(outcome: Outcome) -> None:
    print(f"scaled in {outcome.seconds_to_scale:.1f} s")
    assert outcome.seconds_to_scale < POD_SYNC_SECONDS


def test_trains_with_one_rank_then_two_then_one(outcome: Outcome) -> None:
    sizes = [point["world_size"] for point in outcome.results["history"]]
    assert len(sizes) == EPOCHS
    changes = [sizes[0], *(size for before, size in pairwise(sizes) if size != before)]
    # The lost worker restarts with its sshd, and can join again before the end.
    assert changes[:3] == [1, 2, 1]


def test_learns_the_digits(outcome: Outcome) -> None:
    assert outcome.results["accuracy"] >= 0.95
