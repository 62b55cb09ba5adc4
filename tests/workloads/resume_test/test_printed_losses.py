"""The lines in which programs print their losses."""

import pytest

from training_workloads.resume_test.printed_losses import LEARNING_RATE, printed_losses


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["step 40: loss 0.61"], [("step 40, loss", "0.61")]),
        (["rank  1 | step 40 loss=2.3e-01"], [("step 40, loss", "2.3e-01")]),
        (["epoch 5/12: loss 0.6136, 314 images/s (46 by wall clock)"], [("epoch 5, loss", "0.6136")]),
        # Keras names the epoch in a line before.
        (["Epoch 2/5", " 3/45 [>....] - ETA: 5s - loss: 2.1000"], [("epoch 2, step 3, loss", "2.1000")]),
        (
            ["Epoch 2/5", "45/45 - 1s - loss: 0.5 - val_loss: 0.7 - 1s/epoch - 9ms/step"],
            [("epoch 2, step 45, loss", "0.5"), ("epoch 2, step 45, val_loss", "0.7")],
        ),
        # Hugging Face's Trainer.
        (
            ["{'loss': 1.2, 'grad_norm': 3.1, 'learning_rate': 5e-05, 'epoch': 0.5}"],
            [("epoch 0.5, loss", "1.2"), (f"epoch 0.5, {LEARNING_RATE}", "5e-05")],
        ),
        (["{'loss': '1.2', 'epoch': '0.5'}"], [("epoch 0.5, loss", "1.2")]),
        # A bar of Lightning, drawn twice.
        (
            ["Epoch 0:  40%|####  | 4/10 [00:00<00:00, train_loss=0.52]\rEpoch 0:  50%| 5/10 [train_loss=0.5]"],
            [("epoch 0, step 4, train_loss", "0.52"), ("epoch 0, step 5, train_loss", "0.5")],
        ),
        (["\x1b[32miter 7\x1b[0m loss nan lr 0.1"], [("step 7, loss", "nan"), (f"step 7, {LEARNING_RATE}", "0.1")]),
        (["accuracy = 0.98"], [("accuracy", "0.98")]),
        (["the loss of a rank", "lossless 3", "macc: 3e9 operations"], []),
    ],
)
def test_losses_have_their_places(lines: list[str], expected: list[tuple[str, str]]) -> None:
    assert [(each.place, each.value) for each in printed_losses(lines)] == expected


def test_ranks_are_in_their_own_epochs() -> None:
    lines = ["rank  0 | Epoch 1/2", "rank  1 | Epoch 2/2", "rank  0 | 3/4 - loss: 1.0", "rank  1 | 3/4 - loss: 2.0"]
    found = [(each.rank, each.place) for each in printed_losses(lines)]
    assert found == [("rank 0, ", "epoch 1, step 3, loss"), ("rank 1, ", "epoch 2, step 3, loss")]


@pytest.mark.parametrize(
    ("line", "redrawn"),
    [
        ("rank  0 | step 3 loss=0.5", False),
        ("rank  0 | Epoch 1: 3/4 [loss=0.5]\r", True),
        # Of torchrun, which makes a line of each drawing.
        ("rank  0 | Epoch 1:  75%|███▌  | 3/4 [00:01<00:00, 3.0it/s, loss=0.5]", True),
        ("rank  0 | Epoch 1: 100%|█████| 4/4 [00:01<00:00, 3.0it/s, loss=0.5]", False),
        ("rank  0 | 3/4 [=====>...] - ETA: 0s - loss: 0.5", True),
        ("rank  0 | 4/4 [=========] - 0s 1ms/step - loss: 0.5 - val_loss: 0.5", False),
    ],
)
def test_what_a_bar_draws_over_is_known(line: str, redrawn: bool) -> None:
    assert {each.is_redrawn for each in printed_losses([line])} == {redrawn}
