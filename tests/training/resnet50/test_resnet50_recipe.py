import pytest

from training.imagenet import recipe
from training.imagenet.recipe import Given
from training.runtime.errors import UserError

_NONE: Given = {"learning_rate": None, "warmup_epochs": None, "weight_decay": None, "momentum": None}


def test_sgd_is_the_recipe_of_nvidia() -> None:
    made = recipe.sgd(**_NONE, epochs=90)
    assert (made.learning_rate, made.schedule.warmup_epochs, made.weight_decay) == (0.256, 5, 3.0517578125e-05)
    assert made.momentum == 0.875


def test_rate_rises_with_the_batch_and_over_five_epochs_then_falls_along_a_cosine() -> None:
    made = recipe.sgd(**_NONE, epochs=90)
    rates = [made.rate(epoch, 2048) for epoch in (0, 2.5, 5, 47.5, 90)]
    assert rates == pytest.approx([0, 1.024, 2.048, 1.024, 0])
    assert made.rate(5, 256) == pytest.approx(0.256)


def test_given_values_replace_those_of_the_recipe() -> None:
    made = recipe.sgd(learning_rate=0.1, warmup_epochs=0, weight_decay=0.0, momentum=0.5, epochs=2)
    assert (made.rate(0, 256), made.rate(1, 256)) == pytest.approx((0.1, 0.05))
    assert (made.weight_decay, made.momentum) == (0, 0.5)


@pytest.mark.parametrize(
    ("batch", "peak", "warmup", "momentum"),
    [
        (1632, 7.4, 2, 0.9),
        (4096, 10.0, 5, 0.9),
        (8192, 17.0, 5, 0.9),
        (35840, 21.9, 17, 0.94),
        (65536, 24.699, 31, 0.951807),
    ],
)
def test_lars_takes_the_published_values_of_its_batch(batch: int, peak: float, warmup: int, momentum: float) -> None:
    made = recipe.lars(**_NONE, epochs=40, global_batch=batch)
    assert made.momentum == momentum
    assert made.schedule.warmup_epochs == warmup
    assert made.rate(warmup, batch) == pytest.approx(peak)
    # A polynomial of power 2: a quarter is left in the middle.
    assert made.rate((warmup + 40) / 2, batch) == pytest.approx(peak / 4)


def test_lars_with_another_batch_requires_its_values() -> None:
    with pytest.raises(UserError) as caught:
        recipe.lars(learning_rate=0.5, warmup_epochs=2, weight_decay=0.0, momentum=None, epochs=40, global_batch=2048)
    assert str(caught.value) == (
        "'--optimizer' is lars with 2,048 images a step, for which no values are published; give '--learning-rate', "
        "'--warmup-epochs', '--weight-decay' and '--momentum', or a batch of 1,632, 3,264, 4,096, 8,192, 13,056, "
        "32,768, 35,840, 49,152, 58,880, 65,536 images over all ranks"
    )


def test_the_values_of_lars_given_back_are_the_same_recipe() -> None:
    published = recipe.lars(**_NONE, epochs=40, global_batch=32_768)
    assert published.momentum == 0.94
    given: Given = {**_NONE, "learning_rate": published.learning_rate, "warmup_epochs": 16, "weight_decay": 2.5e-5}
    assert recipe.lars(**given, epochs=40, global_batch=32_768) == published
    # With half the ranks, as a run that resumes has them.
    halved: Given = {**given, "momentum": 0.94}
    assert recipe.lars(**halved, epochs=40, global_batch=16_384) == published


def test_warns_of_a_batch_with_which_sgd_loses_accuracy() -> None:
    made = recipe.sgd(**_NONE, epochs=90)
    assert made.warnings(8192, 32) == []
    # 20 nodes of p3dn.24xlarge with the recipes' batch.
    assert made.warnings(40_960, 160) == [
        "warning: 40,960 images a step are more than the 8,192 up to which sgd keeps its accuracy (arXiv:1706.02677); "
        "give '--batch-size 51' (8,160 images a step) or '--optimizer lars --batch-size 224' (35,840 images a step, "
        "for which MLPerf publishes values)"
    ]
    assert made.warnings(16_777, 1)[0].endswith(
        "'--optimizer lars --batch-size 13056' (13,056 images a step, for which MLPerf publishes values)"
    )
    # Seven divides no published batch, and more ranks than images fit no batch at all.
    assert made.warnings(40_960, 160, has_lars=False)[0].endswith("give '--batch-size 51' (8,160 images a step)")
    assert made.warnings(8_197, 7)[0].endswith("give '--batch-size 1170' (8,190 images a step)")
    assert made.warnings(8_193, 8_193)[0].endswith("give fewer ranks")


def test_does_not_warn_of_a_large_batch_with_lars() -> None:
    assert recipe.lars(**_NONE, epochs=60, global_batch=35_840).warnings(35_840, 160) == []


def test_warns_of_more_epochs_than_the_published_runs_of_lars() -> None:
    assert recipe.lars(**_NONE, epochs=90, global_batch=35_840).warnings(35_840, 160) == [
        "warning: '--epochs' is 90, but MLPerf's runs with 35,840 images a step reached 75.9 % in 60 epochs or fewer; "
        "give '--epochs 60' for their length"
    ]


def test_sentence_shows_the_arithmetic() -> None:
    assert recipe.sgd(**_NONE, epochs=90).sentence(2048) == (
        "learning rate: 0.256 x 2048 / 256 = 2.048, reached from 0 over 5 epochs, then along a cosine to 0 at epoch 90"
        "; sgd, momentum 0.875, weight decay 3.05176e-05"
    )
