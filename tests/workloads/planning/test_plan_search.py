import re
from itertools import pairwise
from typing import Any

import pytest

from tests.workloads.planning.one_v100 import ONE_V100
from training_workloads import INSTANCE_TYPES, InputError
from training_workloads.planning.plan_search import SWEPT_NODES, Wish, best, possible_setups, searched_nodes
from training_workloads.planning.prediction import predict
from training_workloads.planning.training_setup import TrainingSetup, types_with_rates

P4D = possible_setups(["p4d.24xlarge"], searched_nodes(), model="resnet50")
P3DN = possible_setups(["p3dn.24xlarge"], searched_nodes(), model="resnet50")


def test_a_sweep_has_1_to_512_nodes_and_a_search_more_of_them() -> None:
    assert SWEPT_NODES == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    nodes = searched_nodes()
    assert (nodes[:32], nodes[-1]) == (list(range(1, 33)), 512)
    assert all(1 < after / before < 1.1 for before, after in pairwise(nodes[32:]))


def test_what_is_not_possible_is_not_searched() -> None:
    # 131 GiB of images: eight nodes of 61 GiB can hold them beside the ranks, four cannot.
    options = {"model": "resnet50", "storage": "memory"}
    assert [one.nodes for one in possible_setups([ONE_V100], (4, 8), **options)] == [8]
    with_efa = possible_setups([ONE_V100, "p4d.24xlarge"], (1,), model="resnet50", efa=True)
    assert [one.instance_type for one in with_efa] == ["p4d.24xlarge"]
    with pytest.raises(InputError, match=f"'efa' is True, but {re.escape(ONE_V100)} has no EFA"):
        possible_setups([ONE_V100], (1, 2), model="resnet50", efa=True)


def test_the_cheapest_epoch_that_is_short_enough() -> None:
    # On P3dn each node makes an epoch more expensive, so the fewest are the cheapest: one takes 2.3 minutes.
    found = best(P3DN, Wish(target_epoch_minutes=1))
    one_less = predict(found.setup.on_nodes(found.setup.nodes - 1))
    assert found.epoch_seconds <= 60 < one_less.epoch_seconds
    assert (found.usd_per_epoch or 0) > (one_less.usd_per_epoch or 0) > 0


def test_all_types_of_today_are_compared() -> None:
    types = types_with_rates("resnet50", "mixed")
    assert {"p3dn.24xlarge", "p4d.24xlarge", "p5.48xlarge"} < set(types)
    assert [name for name in types if INSTANCE_TYPES[name].retired] == []
    found = best(possible_setups(types, (1, 2), model="resnet50"), Wish(target_epoch_minutes=10))
    alone = [predict(TrainingSetup(model="resnet50", instance_type=name)) for name in types]
    assert (found.usd_per_epoch or 0) <= min(one.usd_per_epoch or 0 for one in alone if one.epoch_seconds <= 600)


def test_a_budget_alone_buys_the_fastest_run() -> None:
    found = best(P4D, Wish(budget=45))
    affordable = [one for one in map(predict, P4D) if one.usd_to_accuracy and one.usd_to_accuracy <= 45]
    assert len(affordable) > 2
    assert found.seconds_to_accuracy == min(one.seconds_to_accuracy or 0 for one in affordable)


def test_both_are_met() -> None:
    found = best(P4D, Wish(target_epoch_minutes=1, budget=60))
    assert found.epoch_seconds <= 60
    assert (found.usd_to_accuracy or 0) <= 60


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (Wish(target_epoch_minutes=1e-6), "'target_epoch_minutes' is 1e-06, but the shortest predicted epoch is"),
        (Wish(budget=1), r"'budget' is 1, but the cheapest predicted run is 22\.22 dollars; raise it$"),
        (
            Wish(budget=1, target_epoch_minutes=0.03),
            r"is 0.03, but the shortest predicted epoch with a published recipe is 0\.0438 minutes; raise it\n"
            r"'budget' is 1, but that run is 44\.05 dollars; raise it$",
        ),
        (
            Wish(budget=2000, target_epoch_minutes=0.03),
            r"is 0.03, but the shortest predicted epoch within the budget is 0\.0438 minutes; raise it$",
        ),
        (
            Wish(budget=25, target_epoch_minutes=0.1),
            r"'budget' is 25, but the cheapest predicted run is .* dollars; raise it, or give "
            r"--target-epoch-minutes 0\.\d+$",
        ),
    ],
)
def test_what_cannot_be_met_has_the_closest(wish: Wish, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        best(P4D, wish)


@pytest.mark.parametrize("instance_type", types_with_rates("resnet50", "mixed"))
@pytest.mark.parametrize(
    ("option", "beside"),
    [("target_epoch_minutes", {}), ("budget", {}), ("budget", {"target_epoch_minutes": 3.0})],
)
def test_a_limit_of_a_message_can_be_given(instance_type: str, option: str, beside: dict[str, float]) -> None:
    setups = possible_setups([instance_type], (1, 3, 7, 12), model="resnet50")
    with pytest.raises(InputError) as caught:
        best(setups, Wish(**{**beside, option: 1e-6}))
    limit = re.search(r"(?:epoch is|run is) ([0-9.]+) ", str(caught.value))
    assert limit
    found = best(setups, Wish(**{**beside, option: float(limit[1])}))
    reached = found.epoch_seconds / 60 if option == "target_epoch_minutes" else found.usd_to_accuracy or 0
    assert float(limit[1]) * 0.98 < reached <= float(limit[1])


def test_batches_without_a_recipe_need_a_smaller_one() -> None:
    with pytest.raises(InputError, match="so large a global batch; give a smaller --batch-size"):
        best(possible_setups(["p4d.24xlarge"], (1, 2), model="resnet50", batch_size=10_000), Wish(budget=1))


def test_nodes_with_a_batch_above_an_epoch_are_not_searched() -> None:
    options: dict[str, Any] = {"model": "resnet50"}
    assert max(one.nodes for one in possible_setups(["p5.48xlarge"], SWEPT_NODES, **options)) == 256


def test_rejects_what_is_not_above_0() -> None:
    with pytest.raises(InputError) as caught:
        Wish(target_epoch_minutes=0, budget=-1)
    assert [str(problem) for problem in caught.value.problems] == [
        "'target_epoch_minutes' is 0; give a number above 0",
        "'budget' is -1; give a number above 0",
    ]
