"""A training step: what it changes, what it keeps, and how a checkpoint restores it."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.training.torch_imagenet.tiny_torch import tiny
from training.torch_imagenet import models
from training.torch_imagenet.__main__ import forward_of, make_train_step
from training.torch_imagenet.models import Model
from training.torch_imagenet.torch_network import Network

CPU = torch.device("cpu")


def network(*, scaled: bool = False, weight_decay: float = 0.5) -> Network:
    torch.manual_seed(0)
    return Network(tiny(10), momentum=0.9, weight_decay=weight_decay, scaled=scaled)


def step_of(made: Network, precision: str = "float32") -> Any:
    forward = forward_of(made, CPU, deterministic=False, compiled=False)
    return make_train_step(made, forward, precision=precision, label_smoothing=0.1)


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    random = torch.Generator().manual_seed(seed)
    images = torch.randint(256, (4, 3, 32, 32), generator=random, dtype=torch.uint8)
    return images, torch.randint(10, (4,), generator=random), torch.zeros(4, dtype=torch.bool), seed


def values(made: Network) -> list[np.ndarray[Any, Any]]:
    return [each.numpy() for each in (*made.variables, *made.statistics)]


def equal(one: Network, other: Network) -> bool:
    return all(np.array_equal(*each) for each in zip(values(one), values(other), strict=True))


def test_two_runs_and_a_restored_one_end_with_the_same_bits() -> None:
    first, second = network(), network()
    for made in (first, second):
        made.learning_rate = 0.1
        step_of(made)(*batch(0))
    assert equal(first, second)
    restored = network()
    for mine, other in zip(
        (*restored.variables, *restored.statistics), (*first.variables, *first.statistics), strict=True
    ):
        mine.assign(other.numpy())
    restored.learning_rate = 0.1
    for made in (first, restored):
        step_of(made)(*batch(1))
    assert equal(first, restored)


def test_normalization_does_not_decay_and_all_other_weights_do() -> None:
    made = network()
    # Of the gradient's 0 only the decay is left.
    for weight in made.model.parameters():
        torch.nn.init.ones_(weight)
        weight.grad = torch.zeros_like(weight)
    made.learning_rate = 1.0
    made.sgd.step()
    found = {name: float(weight.detach().flatten()[0]) for name, weight in made.model.named_parameters()}
    assert {name for name, value in found.items() if value == 1.0} == {name for name in found if "bn" in name} | {
        name for name in found if "downsample.1" in name
    }
    assert found["fc.weight"] == found["fc.bias"] == found["conv1.weight"] == 0.5


def test_a_step_whose_gradients_are_not_finite_changes_nothing_but_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network(scaled=True)
    made.learning_rate = 0.1
    step = step_of(made)
    step(*batch(0))
    before, scale = values(made), float(made.loss_scale)
    bad = float("inf")
    hook = made.model.fc.register_forward_hook(lambda *_: _[2] * bad)
    _, changed = step(*batch(1))
    hook.remove()
    assert changed is False
    assert float(made.loss_scale) == scale / 2
    differing = [not np.array_equal(*each) for each in zip(before, values(made), strict=True)]
    # The scale, and the count of finite steps; and the batches that normalization has seen, which nothing reads.
    counts = sum(not each.is_floating_point() for each in made.model.buffers())
    assert sum(differing) == 2 + counts
    _, changed = step(*batch(2))
    assert changed is True


def test_the_scale_doubles_after_2000_finite_steps_and_is_1_in_float32() -> None:
    made = network(scaled=True)
    assert float(made.loss_scale) == 2**15
    for _ in range(1999):
        made.note_step(True)
    assert float(made.loss_scale) == 2**15
    made.note_step(True)
    assert (float(made.loss_scale), int(made.finite_steps)) == (2**16, 0)
    for _ in range(20):
        made.note_step(False)
    assert float(made.loss_scale) == 1
    plain = network()
    plain.note_step(False)
    assert float(plain.loss_scale) == 1


def test_float16_learns_what_float32_learns() -> None:
    losses = {}
    for precision in ("float32", "mixed_float16"):
        made = network(scaled=precision != "float32", weight_decay=0.0)
        made.learning_rate = 0.01
        step = step_of(made, precision)
        # The first scales may be too large for float16: such a step changes nothing.
        done = [step(*batch(0)) for _ in range(6)]
        losses[precision] = [float(loss["training"]) for loss, changed in done if changed]
    assert losses["mixed_float16"][:2] == pytest.approx(losses["float32"][:2], rel=0.05)
    assert losses["float32"][1] < losses["float32"][0] - 0.5


def test_what_a_step_drops_depends_on_its_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for seed in (1, 1, 2):
        made = network()
        made.model.fc = torch.nn.Sequential(torch.nn.Dropout(0.5), made.model.fc)
        torch.rand(seed)
        losses.append(float(step_of(made)(*batch(0)[:3], seed)[0]["training"]))
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize("name", ["resnet50", "efficientnet-b7"])
def test_an_untrained_network_guesses_every_class_alike(name: str) -> None:
    made = models.build(name, 1000).eval()
    with torch.no_grad():
        logits = made(torch.zeros(1, 3, 64, 64))
    assert logits.shape == (1, 1000)
    loss = float(torch.nn.functional.cross_entropy(logits, torch.tensor([0])))
    assert loss == pytest.approx(np.log(1000), abs=0.5)


def test_the_networks_are_the_published_ones() -> None:
    # https://pytorch.org/vision/stable/models.html: the parameters of both.
    counts = {name: sum(each.numel() for each in models.build(name, 1000).parameters()) for name in models.MODELS}
    assert counts == {"resnet50": 25_557_032, "resnet50-same": 25_557_032, "efficientnet-b7": 66_347_960}
    assert models.MODELS["resnet50"] == Model(models.MODELS["resnet50"].make, 224)
