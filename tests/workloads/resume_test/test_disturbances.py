"""Disturbances that follow from a seed."""

from collections import Counter
from signal import SIGTERM, SIGUSR1

from training_workloads.resume_test.disturbances import Kind, Moment, drawn


def test_a_seed_gives_the_same_disturbances() -> None:
    assert drawn(50, 2, seed=7) == drawn(50, 2, seed=7) != drawn(50, 2, seed=8)


def test_every_rank_the_launcher_and_all_are_hit_at_every_moment() -> None:
    found = [each for life in drawn(1000, 4, seed=0) for each in life]
    assert len(found) == 1000
    kinds, moments = Counter(each.kind for each in found), Counter(each.moment for each in found)
    assert kinds.keys() == set(Kind)
    assert moments.keys() == set(Moment)
    assert min(*kinds.values(), *moments.values()) > 60
    assert {each.rank for each in found} == {0, 1, 2, 3}


def test_a_life_has_a_few_in_the_order_of_the_training() -> None:
    assert [len(life) for life in drawn(10, 2, seed=0)] == [5, 5]
    for life in drawn(100, 2, seed=0):
        assert 1 <= len(life) <= 6
        assert [each.share for each in life] == sorted(each.share for each in life)


def test_a_stop_request_is_that_of_a_job() -> None:
    stop = next(each for life in drawn(100, 2, seed=0) for each in life if each.kind == Kind.STOP)
    assert stop.described(SIGUSR1) == "stop request (SIGUSR1 to the launcher)"
    assert stop.described(SIGTERM) == "stop request (SIGTERM to the launcher)"
