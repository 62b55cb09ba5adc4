import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.mask_rcnn.made_batch import CELLS, TINY, TINY_FROZEN_NORMALIZATION, made_batch, part
from training.coco.batches import Batch
from training.mask_rcnn import roi_align, sampling
from training.mask_rcnn.architecture import Architecture
from training.mask_rcnn.losses import losses, mask_targets
from training.mask_rcnn.model import build
from training.runtime.network import make_network

NAMES = {"rpn_cls", "rpn_loc", "cls", "box_reg", "mask"}
OBJECTS = [[1, 2, 3], [2], [3, 1], [1, 1, 2, 3]]

Step = tuple[Mapping[str, tf.Tensor], list[tf.Tensor]]


def made_model(architecture: Architecture = TINY) -> tf.keras.Model:
    tf.keras.utils.set_random_seed(1)
    return build(architecture)


def step(model: tf.keras.Model, batch: Batch, architecture: Architecture = TINY) -> Step:
    with tf.GradientTape() as tape:
        found = losses(model, batch, architecture)
        total = tf.add_n(list(found.values()))
    return found, tape.gradient(total, model.trainable_variables)


@pytest.fixture(scope="module")
def first() -> tuple[tf.keras.Model, Step]:
    model = made_model()
    return model, step(model, made_batch(OBJECTS))


def test_a_network_that_has_learned_nothing_has_the_losses_of_chance(first: tuple[tf.keras.Model, Step]) -> None:
    found = {name: float(loss) for name, loss in first[1][0].items()}
    assert set(found) == NAMES
    assert found["rpn_cls"] == pytest.approx(math.log(2), abs=0.02)
    assert found["cls"] == pytest.approx(math.log(TINY.classes + 1), abs=0.1)
    assert found["mask"] == pytest.approx(math.log(2), abs=0.02)
    # What is left to learn, because the first predictions are about 0: at most half, or a quarter, of samples have it.
    assert 0 < found["rpn_loc"] < 1
    assert 0 < found["box_reg"] < 2


def test_a_gradient_reaches_every_variable_that_learns(first: tuple[tf.keras.Model, Step]) -> None:
    model, (_, gradients) = first
    names = [
        variable.name
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True)
        if gradient is None or not float(tf.reduce_max(tf.abs(tf.convert_to_tensor(gradient)))) > 0
    ]
    assert names == []
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients)


def test_a_step_changes_every_variable_that_learns_and_no_frozen_one() -> None:
    architecture = dataclasses.replace(TINY, frozen_stages=2, frozen_normalization=True)
    model = made_model(architecture)
    network = make_network(model, 0.9)
    # The first convolution, four of the first block, and scale, shift, mean and variance of all 17.
    frozen, learning = model.non_trainable_weights, model.trainable_weights
    assert len(frozen) == 1 + 4 + 4 * 17
    before = [[np.array(weight) for weight in weights] for weights in (frozen, learning)]
    _, gradients = step(model, made_batch(OBJECTS[:2]), architecture)
    network.optimizer.apply_gradients(zip(gradients, learning, strict=True))
    for weight, value in zip(frozen, before[0], strict=True):
        np.testing.assert_array_equal(weight, value)
    assert [w.name for w, value in zip(learning, before[1], strict=True) if np.array_equal(w, value)] == []


def test_one_rank_with_four_images_is_the_mean_of_two_with_two() -> None:
    model, batch = made_model(TINY_FROZEN_NORMALIZATION), made_batch(OBJECTS)
    whole, gradients = step(model, batch, TINY_FROZEN_NORMALIZATION)
    halves = [step(model, part(batch, *each), TINY_FROZEN_NORMALIZATION) for each in ((0, 2), (2, 4))]
    for name in NAMES:
        # The bound: float32 sums in another order.
        assert float(whole[name]) == pytest.approx(sum(float(half[0][name]) for half in halves) / 2, rel=1e-5)
    for gradient, one, other in zip(gradients, halves[0][1], halves[1][1], strict=True):
        scale = float(tf.reduce_max(tf.abs(gradient)))
        np.testing.assert_allclose(gradient, (one + other) / 2, atol=1e-5 * max(scale, 1))


@pytest.mark.parametrize(
    "labels",
    [[[], []], [[-1, -1], [-1]], [[1, 2, 3] * 33 + [1], [1] * 100], [[1], []], [[1, -1], [-1, 2]]],
    ids=["no object", "crowds alone", "100 objects", "one image without", "both"],
)
def test_losses_are_finite_for_any_objects(first: tuple[tf.keras.Model, Step], labels: list[list[int]]) -> None:
    found, gradients = step(first[0], made_batch(labels))
    assert all(np.isfinite(loss) for loss in found.values())
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients if gradient is not None)
    empty = not any(label > 0 for own in labels for label in own)
    assert {name for name, loss in found.items() if float(loss) == 0} == (
        {"rpn_loc", "box_reg", "mask"} if empty else set()
    )


def test_a_crowd_region_is_not_background(first: tuple[tf.keras.Model, Step]) -> None:
    batch = made_batch([[-1]])
    whole = np.zeros((1, 100, 4), np.float32)
    whole[0, 0] = [0, 0, 64, 64]
    found = losses(first[0], batch._replace(boxes=tf.constant(whole)), TINY)
    # Anchors that are larger than the image are at most 0.7 inside it.
    assert float(found["cls"]) < 0.5 * math.log(TINY.classes + 1)


def test_other_keys_draw_other_boxes(first: tuple[tf.keras.Model, Step]) -> None:
    model, batch = first[0], made_batch(OBJECTS)
    one, same, other = (
        losses(model, each, TINY)["rpn_cls"] for each in (batch, batch, batch._replace(keys=batch.keys + 1))
    )
    assert float(one) == float(same) != float(other)


@pytest.fixture
def mixed_precision() -> Iterator[None]:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


@pytest.mark.usefixtures("mixed_precision")
def test_mixed_precision_is_finite_and_near_float32(first: tuple[tf.keras.Model, Step]) -> None:
    model = made_model()
    assert model.compute_dtype == "float16"
    found, gradients = step(model, made_batch(OBJECTS))
    for name, loss in found.items():
        assert loss.dtype == tf.float32
        # Another rounding may draw other boxes.
        assert float(loss) == pytest.approx(float(first[1][0][name]), rel=0.1, abs=0.02)
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients)


def test_xla_compiles_the_losses(first: tuple[tf.keras.Model, Step], monkeypatch: pytest.MonkeyPatch) -> None:
    # It does not compile the sparse product of the CPU.
    monkeypatch.setattr(roi_align, "_on_cpu", lambda: False)
    # And it has other random numbers for the same key.
    monkeypatch.setattr(sampling, "_random", lambda key, stream, count: tf.range(count, dtype=tf.float32) / count)
    model, batch = first[0], made_batch(OBJECTS[:2])

    def compiled(*tensors: tf.Tensor) -> Mapping[str, tf.Tensor]:
        return losses(model, Batch(*tensors), TINY)

    found = tf.function(compiled, jit_compile=True, autograph=False)(*batch)
    for name, loss in losses(model, batch, TINY).items():
        assert float(found[name]) == pytest.approx(float(loss), rel=1e-4, abs=1e-5)


def test_mask_targets_are_the_objects_part_inside_the_proposal() -> None:
    masks = np.zeros((1, 2, CELLS, CELLS), np.uint8)
    # The left half of the second object.
    masks[0, 1, :, : CELLS // 2] = 1
    objects = np.array([[[0, 0, 0, 0], [10, 20, 50, 60]]], np.float32)
    regions: Any = np.array([[[10, 20, 50, 60], [10, 40, 50, 60], [10, 30, 50, 50], [10, 0, 50, 40]]], np.float32)
    targets = np.asarray(mask_targets(tf.constant(masks), objects, tf.constant(regions), tf.ones((1, 4), tf.int32)))
    assert targets.shape == (1, 4, 28, 28)
    columns = targets[0].mean(1)
    assert set(np.unique(columns)) == {0, 1}
    # The whole object; its right half; the middle half; and from 20 pixels left of it to its middle.
    assert columns.sum(1).tolist() == [14, 0, 14, 14]
    assert columns[3].tolist() == [0] * 14 + [1] * 14


@pytest.mark.whole_run
def test_the_losses_fall_when_the_network_learns() -> None:
    model, batch = made_model(), made_batch(OBJECTS)
    optimizer = tf.keras.optimizers.SGD(0.02, momentum=0.9)

    @tf.function(autograph=False)
    def learn() -> Mapping[str, tf.Tensor]:
        found, gradients = step(model, batch)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return found

    before = learn()
    for _ in range(30):
        after = learn()
    assert float(after["rpn_cls"]) < 0.7 * float(before["rpn_cls"])
    assert float(after["cls"]) < 0.7 * float(before["cls"])
    assert float(after["mask"]) < 0.9 * float(before["mask"])
