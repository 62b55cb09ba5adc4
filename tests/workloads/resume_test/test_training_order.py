"""The order of an undisturbed training."""

from collections.abc import Sequence

import pytest

from training_workloads.resume_test.training_order import TrainingOrder


def order(*places: str) -> TrainingOrder:
    return TrainingOrder(places, [0.5 * number for number in range(len(places))])


STEPS = order(*(f"epoch {epoch}, step {step}, loss" for epoch in (1, 2) for step in (10, 20, 30)))


@pytest.mark.parametrize(
    ("place", "number"),
    [
        ("epoch 1, step 10, loss", 0),
        ("epoch 2, step 10, loss", 3),
        # A bar shows other steps in each run.
        ("epoch 1, step 5, loss", 0),
        ("epoch 1, step 29, loss", 1),
        ("epoch 2, step 21, loss", 4),
        ("epoch 9, step 1, loss", 5),
        # The end of the epoch.
        ("epoch 1, val_loss", 2),
    ],
)
def test_a_place_has_the_number_of_the_last_one_that_is_not_behind_it(place: str, number: int) -> None:
    assert STEPS.number(place) == number


@pytest.mark.parametrize(
    ("places", "ends"),
    [
        (STEPS.places, [2, 5]),
        (["epoch 1, step 1, loss", "epoch 1, step 2, loss", "epoch 1, val_loss", "epoch 2, step 1, loss"], [2, 3]),
        # Hugging Face's Trainer.
        ([f"epoch {part}, loss" for part in ("0.5", "1.0", "1.5", "2.0")], [1, 3]),
        # One step of each epoch: all of them are ends, which says nothing.
        (["epoch 1, step 45, loss", "epoch 1, step 45, val_loss", "epoch 2, step 45, loss"], []),
        (["epoch 1, loss", "epoch 1, val_loss", "epoch 2, loss", "epoch 2, val_loss"], []),
        (["step 1, loss", "step 2, loss"], [1]),
    ],
)
def test_the_ends_of_epochs(places: Sequence[str], ends: list[int]) -> None:
    assert order(*places).last_of_epochs == ends


def test_the_time_to_the_next_place() -> None:
    assert [STEPS.seconds_after(number) for number in (0, 5)] == [0.5, 0.5]
