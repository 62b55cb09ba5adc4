import math
from pathlib import Path

import horovod.tensorflow as hvd
import pytest

from training.mask_rcnn.__main__ import parse, recipe_of
from training.mask_rcnn.architecture import architecture
from training.mask_rcnn.losses import check_first_losses
from training.runtime.errors import UserError

GIVEN = ["--data-dir", "d", "--output-dir", "o"]


@pytest.fixture(autouse=True)
def _rank_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hvd, "rank", lambda: 0)


def test_defaults_are_the_reference_recipe() -> None:
    given = parse(GIVEN)
    assert (given.data_dir, given.output_dir) == (Path("d"), Path("o"))
    assert (given.architecture, given.short_side, given.long_side, given.epochs) == ("resnet50-fpn", 800, 1333, 24)
    recipe = recipe_of(given)
    assert (recipe.name, recipe.batch_size, recipe.learning_rate, recipe.clip_norm) == ("reference", 1, 0.01, None)
    assert (str(given.checkpoint_every), str(given.evaluate_every), given.on_bad_data) == ("10min", "1epoch", "stop")


def test_given_values_replace_those_of_the_recipe() -> None:
    given = [*GIVEN, "--recipe", "throughput", "--batch-size", "2", "--learning-rate", "0.02", "--warmup-steps", "0"]
    recipe = recipe_of(parse(given))
    assert (recipe.batch_size, recipe.learning_rate, recipe.warmup_steps, recipe.clip_norm) == (2, 0.02, 0, 1.5)


def test_the_small_network_has_small_images() -> None:
    given = parse([*GIVEN, "--architecture", "small", "--long-side", "160"])
    assert (given.short_side, given.long_side) == (128, 160)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--long-side", "500"],
            "'--long-side' is 500 but '--short-side' is 800; give a long side of 800 or more",
        ),
        (
            ["--architecture", "small", "--backbone", "model.keras"],
            "'--backbone' is model.keras but '--architecture' is small, whose backbone is another; omit one",
        ),
        (["--clip-norm", "0"], "'--clip-norm' is 0; give a number above 0"),
        (["--short-side", "8"], "'--short-side' is 8; give 32 or more"),
    ],
)
def test_rejects_what_cannot_be(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse([*GIVEN, *arguments])
    assert str(caught.value) == message


@pytest.mark.parametrize(("gpu", "precision", "xla"), [(True, "mixed_float16", "on"), (False, "float32", "off")])
def test_device_decides_precision_and_compiler(gpu: bool, precision: str, xla: str) -> None:
    settings = parse(GIVEN).on_device(gpu=gpu)
    assert (settings.precision, settings.xla) == (precision, xla)


def test_a_memory_that_does_not_suffice_names_what_to_lower() -> None:
    settings = parse([*GIVEN, "--recipe", "throughput"]).on_device(gpu=False)
    assert "; ".join(settings.with_recipe(recipe_of(settings)).ways_to_less_memory()) == (
        "'--batch-size' is 4: give 2 or less; on a GPU '--precision mixed_float16' halves what the layers keep; "
        "'--short-side' is 800, '--long-side' 1333: give smaller ones"
    )


def test_nothing_is_frozen_without_a_trained_backbone() -> None:
    trained = architecture("resnet50-fpn", 80, backbone=True)
    assert (trained.frozen_stages, trained.frozen_normalization, trained.classes) == (2, True, 80)
    random = architecture("resnet50-fpn", 3, backbone=False)
    assert (random.frozen_stages, random.frozen_normalization, random.classes) == (0, False, 3)


UNTRAINED = {"rpn_cls": math.log(2), "rpn_loc": 0.1, "cls": math.log(81), "box_reg": 0.01, "mask": math.log(2)}


@pytest.mark.parametrize("mask", [math.log(2), math.log(2) / 2, 0.0])
def test_accepts_the_losses_of_an_untrained_network_and_images_without_objects(mask: float) -> None:
    check_first_losses({**UNTRAINED, "mask": mask}, 80)


@pytest.mark.parametrize("wrong", [{"cls": 9.0}, {"rpn_cls": 0.01}, {"mask": 2.0}, {"cls": math.nan}])
def test_rejects_first_losses_that_are_not_those_of_an_untrained_network(wrong: dict[str, float]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(UserError, match=f"the first loss '{name}' is {value:.2f}, but before anything is learned"):
        check_first_losses({**UNTRAINED, **wrong}, 80)
