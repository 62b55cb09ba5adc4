import pytest

from training.runtime.errors import UserError
from training.runtime.schedule import Schedule, batch_sentence, check_batch_size, square


@pytest.mark.parametrize(
    ("epoch", "rate"),
    [(0, 0.02), (0.5, 0.025), (1, 0.03), (2, 0.04), (4.5, 0.0341421), (7, 0.02), (12, 0.0), (13, 0.0)],
)
def test_rate_rises_from_its_start_to_its_peak_and_falls_along_a_cosine(epoch: float, rate: float) -> None:
    schedule = Schedule(epochs=12, warmup_epochs=2)
    assert schedule.rate(epoch, peak=0.04, start=0.02) == pytest.approx(rate, abs=1e-7)


@pytest.mark.parametrize(("epoch", "rate"), [(0, 0.0), (1, 0.02), (2, 0.04), (7, 0.01), (12, 0.0)])
def test_square_leaves_a_quarter_in_the_middle_of_the_decay(epoch: float, rate: float) -> None:
    schedule = Schedule(epochs=12, warmup_epochs=2, decay=square)
    assert schedule.rate(epoch, peak=0.04) == pytest.approx(rate)


def test_rate_without_warm_up_starts_at_its_peak() -> None:
    assert Schedule(epochs=12, warmup_epochs=0).rate(0, peak=0.08, start=0.02) == pytest.approx(0.08)


def test_rate_of_one_rank_has_nothing_to_rise_to() -> None:
    schedule = Schedule(epochs=12, warmup_epochs=2)
    assert [schedule.rate(epoch, peak=0.02, start=0.02) for epoch in (0, 1, 2)] == pytest.approx([0.02] * 3)


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        (
            Schedule(epochs=12, warmup_epochs=2),
            "reached from 0.02 over 2 epochs, then along a cosine to 0 at epoch 12",
        ),
        (Schedule(epochs=3, warmup_epochs=0), "without warm-up, then along a cosine to 0 at epoch 3"),
        (
            Schedule(epochs=9, warmup_epochs=1, decay=square),
            "reached from 0.02 over 1 epochs, then along a polynomial of power 2 to 0 at epoch 9",
        ),
    ],
)
def test_sentence_describes_the_curve(schedule: Schedule, sentence: str) -> None:
    assert schedule.sentence(start=0.02) == sentence


def test_rejects_a_warm_up_that_is_as_long_as_the_run() -> None:
    with pytest.raises(UserError) as caught:
        Schedule(epochs=3, warmup_epochs=3)
    assert str(caught.value) == (
        "'--warmup-epochs' is 3, given or by default, but '--epochs' is 3; give '--warmup-epochs 2' or fewer, or more "
        "epochs"
    )


def test_batch_sentence_shows_the_product() -> None:
    assert batch_sentence(16, 2) == "batch: 16 images per rank x 2 ranks = 32 images per step"


def test_rejects_a_batch_that_is_larger_than_a_rank_s_part() -> None:
    check_batch_size(718, images=1437, ranks=2)
    with pytest.raises(UserError) as caught:
        check_batch_size(719, images=1437, ranks=2)
    assert str(caught.value) == (
        "'--batch-size' is 719 but with 2 ranks each has 718 of the 1,437 training images; give 718 or less"
    )
