import pytest

from training.resnet50 import schedule
from training.runtime.errors import UserError

_NONE = {"learning_rate": None, "warmup_epochs": None, "weight_decay": None}


def test_sgd_is_nvidia_s_recipe() -> None:
    recipe = schedule.sgd(**_NONE, epochs=90)
    assert (recipe.learning_rate, recipe.warmup_epochs, recipe.weight_decay) == (0.256, 5, 3.0517578125e-05)
    assert schedule.MOMENTUM["sgd"] == 0.875


def test_the_rate_rises_with_the_batch_and_over_five_epochs_then_falls_along_a_cosine() -> None:
    recipe = schedule.sgd(**_NONE, epochs=90)
    rates = [recipe.rate(epoch, 2048) for epoch in (0, 2.5, 5, 47.5, 90)]
    assert rates == pytest.approx([0, 1.024, 2.048, 1.024, 0])
    assert recipe.rate(5, 256) == pytest.approx(0.256)


def test_values_given_win_over_the_recipe_s() -> None:
    recipe = schedule.sgd(learning_rate=0.1, warmup_epochs=0, weight_decay=0.0, epochs=2)
    assert (recipe.rate(0, 256), recipe.rate(1, 256)) == pytest.approx((0.1, 0.05))
    assert recipe.weight_decay == 0


@pytest.mark.parametrize(("batch", "peak", "warmup"), [(1632, 7.4, 2), (4096, 10.0, 5), (8192, 17.0, 5)])
def test_lars_takes_what_is_published_for_its_batch(batch: int, peak: float, warmup: int) -> None:
    recipe = schedule.lars(**_NONE, epochs=40, global_batch=batch)
    assert recipe.warmup_epochs == warmup
    assert recipe.rate(warmup, batch) == pytest.approx(peak)
    # A polynomial of power 2: a quarter is left in the middle.
    assert recipe.rate((warmup + 40) / 2, batch) == pytest.approx(peak / 4)


def test_lars_with_another_batch_needs_its_values() -> None:
    with pytest.raises(UserError) as caught:
        schedule.lars(**{**_NONE, "learning_rate": 0.5}, epochs=40, global_batch=2048)
    assert str(caught.value) == (
        "'--optimizer' is lars with 2,048 images a step, for which no values are published; give '--learning-rate', "
        "'--warmup-epochs' and '--weight-decay', or a batch of 1,632, 3,264, 4,096, 8,192, 13,056 images over all ranks"
    )
    given = {"learning_rate": 0.5, "warmup_epochs": 2, "weight_decay": 0.0}
    assert schedule.lars(**given, epochs=40, global_batch=2048).rate(2, 2048) == pytest.approx(4.0)


def test_a_warm_up_without_an_end_is_refused() -> None:
    with pytest.raises(
        UserError, match="'--warmup-epochs' is 5 but '--epochs' is 5; give 4 or fewer epochs of warm-up"
    ):
        schedule.sgd(**_NONE, epochs=5)


def test_the_sentence_can_be_checked() -> None:
    assert schedule.sgd(**_NONE, epochs=90).sentence(2048) == (
        "learning rate: 0.256 x 2048 / 256 = 2.048, reached from 0 over 5 epochs, then along a cosine to 0 at epoch 90"
        "; sgd, weight decay 3.05176e-05"
    )
