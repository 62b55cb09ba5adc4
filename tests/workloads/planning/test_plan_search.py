import pytest

from training_workloads import InputError
from training_workloads.planning.plan_search import SWEPT_NODES, Wish, best, setups_of_all_types, sweep
from training_workloads.planning.prediction import predict
from training_workloads.planning.training_setup import TrainingSetup

P4D = TrainingSetup(model="resnet50", instance_type="p4d.24xlarge")
P3 = TrainingSetup(model="resnet50", instance_type="p3.16xlarge")


def test_a_sweep_has_1_to_512_nodes() -> None:
    assert SWEPT_NODES == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert [one.setup.nodes for one in sweep(P4D, (1, 3))] == [1, 3]


def test_the_cheapest_epoch_that_is_short_enough() -> None:
    # On P3 each node makes an epoch more expensive, so the fewest are the cheapest: one takes 2.3 minutes.
    found = best([P3], Wish(target_epoch_minutes=1))
    one_less = predict(P3.on_nodes(found.setup.nodes - 1))
    assert found.epoch_seconds <= 60 < one_less.epoch_seconds
    assert found.usd_per_epoch is not None
    assert one_less.usd_per_epoch is not None
    assert found.usd_per_epoch > one_less.usd_per_epoch


def test_all_types_are_compared() -> None:
    setups = setups_of_all_types(P3)
    assert {"p3.16xlarge", "p4d.24xlarge", "p5.48xlarge"} < {setup.instance_type for setup in setups}
    found = best(setups, Wish(target_epoch_minutes=10))
    costs = [predict(setup).usd_per_epoch or 0 for setup in setups if predict(setup).epoch_seconds <= 600]
    assert found.usd_per_epoch is not None
    assert found.usd_per_epoch <= min(costs)


def test_a_budget_alone_buys_the_fastest_run() -> None:
    found = best([P4D], Wish(budget=45))
    assert found.usd_to_accuracy is not None
    assert found.usd_to_accuracy <= 45
    cheap = [one for one in sweep(P4D) if one.usd_to_accuracy and one.usd_to_accuracy <= 45]
    assert all(found.seconds_to_accuracy <= one.seconds_to_accuracy for one in cheap if found.seconds_to_accuracy)


def test_both_are_met() -> None:
    found = best([P4D], Wish(target_epoch_minutes=1, budget=60))
    assert found.epoch_seconds <= 60
    assert (found.usd_to_accuracy or 0) <= 60


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (Wish(target_epoch_minutes=1e-6), "'target_epoch_minutes' is 1e-06, but the shortest predicted epoch is"),
        (Wish(budget=1), "'budget' is 1, but the cheapest predicted run is 22 dollars; raise it"),
        (
            Wish(budget=1, target_epoch_minutes=0.03),
            "'budget' is 1, but no recipe is published for the global batches that are fast enough",
        ),
    ],
)
def test_what_cannot_be_met_has_the_closest(wish: Wish, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        best([P4D], wish)


def test_rejects_what_is_not_above_0() -> None:
    with pytest.raises(InputError) as caught:
        Wish(target_epoch_minutes=0, budget=-1)
    assert [str(problem) for problem in caught.value.problems] == [
        "'target_epoch_minutes' is 0; give a number above 0",
        "'budget' is -1; give a number above 0",
    ]
