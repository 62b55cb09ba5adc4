"""The command line of training.torch_imagenet."""

import pytest

from training.runtime.errors import UserError
from training.torch_imagenet.__main__ import parse

GIVEN = ["--data-dir", "data", "--output-dir", "out"]


@pytest.mark.parametrize(("options", "pixels"), [([], 224), (["--model", "efficientnet-b7"], 600)])
def test_the_size_of_images_is_the_models(options: list[str], pixels: int) -> None:
    assert parse([*GIVEN, *options]).image_size == pixels
    assert parse([*GIVEN, *options, "--image-size", "32"]).image_size == 32


@pytest.mark.parametrize(("gpu", "precision"), [(True, "mixed_float16"), (False, "float32")])
def test_the_precision_is_the_devices(gpu: bool, precision: str) -> None:
    assert parse(GIVEN).on_device(gpu=gpu).precision == precision
    assert parse([*GIVEN, "--precision", "float32"]).on_device(gpu=gpu).precision == "float32"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output-dir", "out"], "neither '--data-dir' nor '--synthetic' is given"),
        ([*GIVEN, "--synthetic"], "'--data-dir' and '--synthetic' are both given"),
        ([*GIVEN, "--model", "vgg"], "'--model' is 'vgg'; give resnet50, resnet50-same or efficientnet-b7"),
        ([*GIVEN, "--data-workers", "-1"], "'--data-workers' is -1; give 0 or more"),
    ],
)
def test_rejects_what_is_not_allowed(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(arguments)
    assert message in str(caught.value)
