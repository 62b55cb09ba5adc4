"""Disturbances that follow from a seed."""

from collections import Counter
from signal import SIGKILL, SIGTERM

from training_workloads.resume_test.disturbances import disturbances


def test_a_seed_gives_the_same_disturbances() -> None:
    assert list(disturbances(50, 2, seed=7)) == list(disturbances(50, 2, seed=7)) != list(disturbances(50, 2, seed=8))


def test_every_rank_and_the_launcher_are_hit_and_asked_to_stop() -> None:
    found = list(disturbances(1000, 4, seed=0))
    kinds = Counter((each.number, each.rank == -1) for each in found)
    assert kinds.keys() == {(SIGKILL, False), (SIGKILL, True), (SIGTERM, False)}
    assert min(kinds.values()) > 150
    assert {each.rank for each in found} == {-1, 0, 1, 2, 3}
    assert all(0 <= each.delay < 1 for each in found)
