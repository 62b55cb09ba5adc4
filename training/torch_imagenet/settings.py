"""The command line of `python -m training.torch_imagenet`, and the settings of a run that it makes.

An option of training.resnet50 has the same name and default here where it means the same.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from training.imagenet.crops_and_colors import MIN_CROP_AREA
from training.runtime import command_line, run_options
from training.runtime.distributed import RankParser
from training.runtime.errors import UserError
from training.runtime.every import Every
from training.torch_imagenet.models import MODELS

_LAYOUTS = "shards (train-00000-of-01024 …), or of folders train/<class> and val/<class>"
_DESCRIPTION = f"Train a network of torchvision on ImageNet or on other images: {_LAYOUTS}."


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """A run's options, a field each; `python -m training.torch_imagenet --help` says what they mean.

    None is an option that was not given: the recipe decides `learning_rate`, `warmup_epochs`, `weight_decay` and
    `momentum`, the model `image_size`, the device `precision`, and the machine `data_workers`.
    """

    model: str
    data_dir: Path | None
    synthetic: bool
    image_size: int | None
    classes: int
    on_bad_data: str
    data_workers: int | None

    epochs: int
    batch_size: int
    learning_rate: float | None
    warmup_epochs: int | None
    weight_decay: float | None
    momentum: float | None
    label_smoothing: float
    min_crop_area: float
    mirror: str
    seed: int

    precision: str | None
    compile: bool
    deterministic: bool

    output_dir: Path
    checkpoint_every: Every
    evaluate_every: Every
    keep_checkpoints: int

    def __post_init__(self) -> None:
        """Reject a run without images, and one with two sources of them."""
        if self.data_dir is None and not self.synthetic:
            raise UserError(
                f"neither '--data-dir' nor '--synthetic' is given; give a folder of {_LAYOUTS}, or --synthetic for a "
                "test of speed"
            )
        if self.data_dir is not None and self.synthetic:
            raise UserError("'--data-dir' and '--synthetic' are both given; give one of them")

    @property
    def pixels(self) -> int:
        """Of each side of an image."""
        return self.image_size or MODELS[self.model].image_size

    def on_device(self, *, gpu: bool) -> "Settings":
        """Return the settings with the precision of a GPU or a CPU, where it is not given."""
        return replace(self, precision=self.precision or ("mixed_float16" if gpu else "float32"))


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line.

    Raises:
        UserError: A value is not allowed, or two values exclude each other.
    """
    parser = RankParser(prog="python -m training.torch_imagenet", description=_DESCRIPTION)
    _add_data(parser)
    _add_recipe(parser)
    _add_machine(parser)
    run_options.add_output(parser, files="checkpoints/, tensorboard/, results.json, curve.svg and model.pt")
    return Settings(**vars(parser.parse_args(arguments)))


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    add = group.add_argument
    add("--data-dir", type=command_line.path, help=f"folder of {_LAYOUTS}")
    add("--synthetic", action="store_true", help="random images from memory instead, to measure speed without input")
    add("--image-size", type=command_line.whole_number(32), help="pixels of each side (the model's: 224, or 600 of B7)")
    add("--classes", type=command_line.whole_number(2), default=1000, help="labels are 1 to this (%(default)s)")
    run_options.add_on_bad_data(group)
    add(
        "--data-workers",
        type=command_line.whole_number(0, 1024),
        help="processes of a rank that read and decode (TRAINING_DATA_THREADS, or else the rank's share of the cores)",
    )


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("recipe").add_argument
    add("--model", choices=tuple(MODELS), default="resnet50", help="the network (%(default)s)")
    add("--epochs", type=command_line.whole_number(1), default=90, help="passes over the images (%(default)s)")
    add("--batch-size", type=command_line.whole_number(1), default=256, help="images per rank and step (%(default)s)")
    rate, decay = command_line.positive_number, command_line.number_from(0)
    add("--learning-rate", type=rate, help="for 256 images of a step (0.256)")
    add("--warmup-epochs", type=command_line.whole_number(0), help="epochs to reach that rate (5)")
    add("--weight-decay", type=decay, help="factor of the L2 term's gradient (1/32768)")
    momentum = command_line.number_from(0, 0.999999)
    add("--momentum", type=momentum, help="part of the step before that each step repeats (0.875)")
    seed = command_line.whole_number(0, 2**32 - 1)
    add("--seed", type=seed, default=0, help="of the weights, the order of images and their crops (%(default)s)")
    share, area = command_line.number_from(0, 0.9), command_line.number_from(0.01, 1)
    add("--label-smoothing", type=share, default=0.1, help="share spread over all classes (%(default)s)")
    add("--min-crop-area", type=area, default=MIN_CROP_AREA, help="smallest crop, as a part of the image (%(default)s)")
    add("--mirror", choices=("on", "off"), default="on", help="mirror half of the training images (%(default)s)")


def _add_machine(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("machine").add_argument
    add(
        "--precision",
        choices=("mixed_float16", "float32"),
        help="of the layers; weights are float32 in any case (a GPU: mixed_float16, else float32)",
    )
    add("--compile", action="store_true", help="make kernels for the network with torch.compile; the first step waits")
    add("--deterministic", action="store_true", help="the same weights to the last bit every time; slower on a GPU")
