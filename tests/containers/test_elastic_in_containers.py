"""An elastic job between containers: it takes in a worker that is added, and goes on without one that is lost."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.containers.conftest import Phase
from tests.containers.mpi_job import EmulatedMpiJob
from training_workloads import ElasticHorovodJobSpec, HorovodJobSpec
from training_workloads.recipes import recipe

NAME = "digits-elastic"
# Enough for the second worker to join while the first trains: after 8 epochs mostly, after 158 once.
EPOCHS = 250


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the job said at its launcher, in results.json, and what its launcher could see of the workers."""

    succeeded: bool
    logs: list[str]
    results: dict[str, Any]
    discovered: list[str]


def elastic_digits() -> HorovodJobSpec:
    digits = recipe("digits-spot", NAME)
    assert isinstance(digits, ElasticHorovodJobSpec)
    return replace(digits, command=(*digits.command, "--epochs", str(EPOCHS)), workers=1, max_workers=2)


@pytest.fixture(scope="module")
def outcome(job: Callable[..., EmulatedMpiJob], claim: Callable[[], Path], phase: Phase) -> Outcome:
    lustre, discovered = claim(), []
    with phase("an elastic job, from one worker to two and back"), job(elastic_digits(), lustre) as running:
        running.wait(lambda: "epoch 2/" in running.log(), 240)
        discovered.append(running.launchers[0].execute("/etc/mpi/discover_hosts.sh"))
        running.scale(2)
        running.wait(lambda: "written by 1 ranks, now 2" in running.log(), 240)
        discovered.append(running.launchers[0].execute("/etc/mpi/discover_hosts.sh"))
        joined = running.log().count("test accuracy")
        running.wait(lambda: running.log().count("test accuracy") > joined, 60)
        running.workers[1].kill()
        running.wait(lambda: "written by 2 ranks, now 1" in running.log(), 240)
        succeeded = running.run_to_the_end(400)
        logs = [launcher.log() for launcher in running.launchers]
    results = json.loads((lustre / "runs" / NAME / "results.json").read_text())
    print(*logs, sep="\n")
    return Outcome(succeeded=succeeded, logs=logs, results=results, discovered=discovered)


def test_one_launcher_saw_it_through(outcome: Outcome) -> None:
    assert outcome.succeeded, outcome.logs
    assert len(outcome.logs) == 1


def test_the_launcher_finds_the_workers_as_they_come(outcome: Outcome) -> None:
    first, second = (f"{NAME}-worker-{index}.{NAME}.default.svc" for index in (0, 1))
    assert outcome.discovered == [first, f"{first}\n{second}"]


def test_it_trained_with_one_rank_with_two_and_with_one(outcome: Outcome) -> None:
    sizes = outcome.results["world_sizes"]
    assert len(sizes) == EPOCHS
    changes = [sizes[0], *(size for before, size in pairwise(sizes) if size != before)]
    # The worker that was lost comes back with its sshd, and may be taken in again before the end.
    assert changes[:3] == [1, 2, 1]


def test_it_learned_the_digits(outcome: Outcome) -> None:
    assert outcome.results["accuracy"] >= 0.95
