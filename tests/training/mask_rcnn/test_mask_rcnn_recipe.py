from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf
import yaml  # type: ignore[import-untyped]

from tests.training.mpirun import ROOT
from training.mask_rcnn.recipe import reference, throughput
from training.runtime.errors import UserError

IMAGES = 118_287


def test_the_recipes_are_the_published_ones() -> None:
    plain, fast = reference(epochs=24), throughput(epochs=24)
    assert (plain.batch_size, plain.learning_rate, plain.clip_norm) == (1, 0.01, None)
    assert (fast.batch_size, fast.learning_rate, fast.clip_norm) == (4, 0.0125, 1.5)
    for each in (plain, fast):
        assert (each.weight_decay, each.drops) == (1e-4, (16, 20))


def test_another_number_of_epochs_drops_at_two_thirds_and_eight_ninths() -> None:
    assert reference(epochs=9).drops == (6, 8)


def test_the_rate_rises_with_the_batch_over_1000_steps_and_falls_twice_by_ten() -> None:
    def rate(epoch: float, batch: int) -> float:
        return reference(epochs=24).rate(IMAGES, epoch, batch)

    assert rate(0, 8) == pytest.approx(1e-5)
    assert rate(500 * 8 / IMAGES, 8) == pytest.approx(0.01 * 0.5005)
    assert rate(1000 * 8 / IMAGES, 8) == pytest.approx(0.01)
    # The same images are fewer steps of a larger batch.
    assert rate(1000 * 8 / IMAGES, 16) == pytest.approx(0.02 * 0.5005)
    assert [rate(epoch, 16) for epoch in (1, 15.99, 16, 19.99, 20, 23.99)] == pytest.approx(
        [0.02, 0.02, 0.002, 0.002, 0.0002, 0.0002]
    )


def test_more_than_128_images_a_step_take_longer() -> None:
    assert [reference(epochs=24).steps_of_warmup(batch) for batch in (8, 128, 256)] == [1000, 1000, 1800]


def test_rejects_a_warm_up_that_is_not_over_when_the_rate_falls() -> None:
    with pytest.raises(UserError) as caught:
        reference(epochs=3).check(training_images=320, global_batch=8)
    assert str(caught.value) == (
        "'--warmup-steps' is 1,000, but the learning rate falls after 80 steps of 8 images; give 80 or fewer, or more "
        "'--epochs'"
    )


def test_the_warm_up_of_the_sweep_is_over_when_the_rate_falls() -> None:
    sweep = yaml.safe_load((ROOT / "examples/bench/mask_rcnn_p3dn.yaml").read_text())
    given = dict(pairwise(map(str, sweep["arguments"])))
    made = replace(throughput(epochs=int(given["--epochs"])), warmup_steps=int(given["--warmup-steps"]))
    for nodes in sweep["axes"]["nodes"]:
        # The eight GPUs of a p3dn.24xlarge.
        made.check(training_images=IMAGES, global_batch=nodes * 8 * made.batch_size)


def test_kernels_decay_and_neither_biases_nor_normalization() -> None:
    gradient = tf.constant([[1.0, 2.0]])
    kernel, bias = tf.Variable([[10.0, 20.0]]), tf.Variable([10.0, 20.0])
    recipe = reference(epochs=24)
    assert np.allclose(recipe.decay(gradient, kernel), [[1.001, 2.002]])
    assert np.array_equal(recipe.decay(gradient[0], bias), [1, 2])


def test_sentence_shows_the_arithmetic() -> None:
    assert throughput(epochs=24).sentence(64) == (
        "learning rate (throughput): 0.0125 x 64 / 8 = 0.1, reached over 1000 steps, a tenth after epoch 16, a "
        "hundredth after 20; momentum 0.9, weight decay 0.0001, gradients no longer than 1.5"
    )
