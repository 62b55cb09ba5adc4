import pytest

from training.digits.plan import Plan
from training.runtime.errors import UserError

DEFAULTS = {"images": 1437, "batch_size": 16, "epochs": 12, "learning_rate": 0.02, "warmup_epochs": 2}


def plan(world_size: int, **changes: float) -> Plan:
    return Plan(world_size=world_size, **(DEFAULTS | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("epoch", "rate"),
    [(0, 0.02), (0.5, 0.025), (1, 0.03), (2, 0.04), (4.5, 0.0341421), (7, 0.02), (12, 0.0)],
)
def test_the_rate_rises_to_that_of_all_ranks_and_falls_to_zero(epoch: float, rate: float) -> None:
    assert plan(2).rate(epoch) == pytest.approx(rate, abs=1e-7)


def test_without_warmup_the_rate_starts_at_its_peak() -> None:
    assert plan(4, warmup_epochs=0).rate(0) == pytest.approx(0.08)


def test_one_rank_has_nothing_to_rise_to() -> None:
    assert [plan(1).rate(epoch) for epoch in (0, 1, 2)] == pytest.approx([0.02, 0.02, 0.02])


def test_the_sentences_show_the_arithmetic() -> None:
    assert plan(2).sentences() == [
        "batch: 16 images per rank x 2 ranks = 32 images per step",
        "steps: 1437 training images / 32, rounded up, = 45 per epoch; x 12 epochs = 540",
        "learning rate: 0.02 per rank x 2 ranks = 0.04, reached from 0.02 over 2 epochs, "
        "then along a cosine to 0 at epoch 12",
    ]


def test_the_sentence_without_warmup() -> None:
    assert "= 0.04, without warm-up, then" in plan(2, warmup_epochs=0).sentences()[2]


def test_a_batch_larger_than_a_shard_is_refused() -> None:
    assert plan(2, batch_size=718).steps_per_epoch == 2
    with pytest.raises(UserError) as caught:
        plan(2, batch_size=719)
    assert str(caught.value) == (
        "'--batch-size' is 719 but with 2 ranks each has 718 of the 1437 training images; give 718 or less"
    )


def test_warmup_must_end_before_the_run() -> None:
    with pytest.raises(UserError) as caught:
        plan(2, epochs=3, warmup_epochs=3)
    assert str(caught.value) == (
        "'--warmup-epochs' is 3 but '--epochs' is 3; give 2 or fewer epochs of warm-up, or more epochs"
    )
