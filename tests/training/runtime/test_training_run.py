import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import horovod.tensorflow as hvd
import pytest

from training.runtime import complete_run, curve, ranks, training_run, wall_clock
from training.runtime.elastic import CheckHosts
from training.runtime.errors import UserError
from training.runtime.position import Position
from training.runtime.stop_request import StopRequest
from training.runtime.tensorflow_ranks import TensorFlowRanks


class Cache:
    """Images in memory, of a task whose parts refer to each other."""

    def __init__(self) -> None:
        self.task: object = self


class Restart(Exception):
    """The ranks have changed."""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have no ranks, in an elastic run that restarts until it succeeds; return what was drawn."""
    drawn: list[str] = []

    class Restarting(TensorFlowRanks):
        def run(self, program: Callable[[CheckHosts], None], variables: object) -> None:
            while True:
                try:
                    return program(lambda: None)
                except Restart:
                    pass

    monkeypatch.setattr(ranks, "_current", Restarting())
    monkeypatch.setattr(curve, "draw", lambda output: drawn.append(f"curve in {output}"))
    return drawn


def task(draw: Callable[[], object], cache: object = None) -> Any:
    return SimpleNamespace(lower="", plan=SimpleNamespace(output=Path("out")), draw=draw, batches=lambda: cache)


def test_a_restart_keeps_nothing_of_the_start_before_in_memory(
    monkeypatch: pytest.MonkeyPatch, drawn: list[str]
) -> None:
    caches: list[weakref.ref[Cache]] = []
    alive: list[int] = []

    def make_task() -> Any:
        alive.append(sum(cache() is not None for cache in caches))
        cache = Cache()
        caches.append(weakref.ref(cache))
        return task(lambda: None, cache)

    def complete(*_: object) -> None:
        if len(caches) < 3:
            raise Restart

    monkeypatch.setattr(complete_run, "complete", complete)
    training_run.train(make_task, [], StopRequest())
    assert alive == [0, 0, 0]


def test_the_wait_between_two_starts_counts_in_none(monkeypatch: pytest.MonkeyPatch, drawn: list[str]) -> None:
    now, began = 100.0, []

    class Waiting(TensorFlowRanks):
        def run(self, program: Callable[[CheckHosts], None], variables: object) -> None:
            nonlocal now
            with pytest.raises(Restart):
                program(lambda: None)
            now += 1000
            program(lambda: None)

    def complete(task: object, stop: object, check_hosts: object, since: float) -> None:
        nonlocal now
        began.append(since)
        now += 5
        if len(began) < 2:
            raise Restart

    monkeypatch.setattr(training_run, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(wall_clock, "process_start", lambda: 90.0)
    monkeypatch.setattr(ranks, "_current", Waiting())
    monkeypatch.setattr(complete_run, "complete", complete)
    training_run.train(lambda: task(lambda: None), [], StopRequest())
    assert began == [90, 1105]


def test_ranks_of_horovod_that_are_not_in_use_are_an_error(monkeypatch: pytest.MonkeyPatch, drawn: list[str]) -> None:
    monkeypatch.setattr(hvd, "is_initialized", lambda: True)
    monkeypatch.setattr(hvd, "size", lambda: 2)
    with pytest.raises(RuntimeError, match=r"call training\.runtime\.horovod_ranks\.init\(\), not hvd\.init\(\)"):
        training_run.train(lambda: task(lambda: None), [], StopRequest())


@pytest.mark.parametrize(("rank", "expected"), [(0, ["curve in out", "task 2"]), (1, ["curve in out"])])
def test_rank_zero_draws_what_the_last_start_made(
    monkeypatch: pytest.MonkeyPatch, drawn: list[str], rank: int, expected: list[str]
) -> None:
    started: list[Any] = []

    def make_task() -> Any:
        number = len(started) + 1
        started.append(None)
        return task(lambda: drawn.append(f"task {number}"))

    def complete(*_: object) -> None:
        if len(started) < 2:
            raise Restart

    monkeypatch.setattr(ranks, "rank", lambda: rank)
    monkeypatch.setattr(complete_run, "complete", complete)
    training_run.train(make_task, [], StopRequest())
    assert drawn == expected


@pytest.mark.parametrize("results", [{}, {"accuracy": "high"}, {"top_1": 0.5}])
def test_a_finished_run_without_its_score_is_that_of_another_program(results: dict[str, Any]) -> None:
    finished: Any = SimpleNamespace(score="accuracy", plan=SimpleNamespace(output=Path("out"), epochs=2))
    loop: Any = SimpleNamespace(position=Position(epoch=2), outcome=results)
    with pytest.raises(UserError, match="the checkpoints in out are those of another program"):
        complete_run._say_where(loop, finished, {})
