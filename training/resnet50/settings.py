"""The command line of `python -m training.resnet50`, and the settings of a run that it makes."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from training.imagenet.crops_and_colors import MIN_CROP_AREA
from training.runtime import command_line, run_options
from training.runtime.distributed import RankParser
from training.runtime.errors import UserError
from training.runtime.every import Every

_LAYOUTS = "shards (train-00000-of-01024 …), or of folders train/<class> and val/<class>"
_DESCRIPTION = f"Train ResNet-50 v1.5 on ImageNet or on other images: {_LAYOUTS}."

#: What may connect the ranks; the first is the default.
STRATEGIES = ("horovod", "multiworker")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """A run's options, a field each; `python -m training.resnet50 --help` says what they mean.

    None is an option that was not given: the optimizer's recipe decides `learning_rate`, `warmup_epochs`,
    `weight_decay` and `momentum`, and the device decides `precision` and `xla` (see `on_device`).
    """

    data_dir: Path | None
    synthetic: bool
    image_size: int
    classes: int
    on_bad_data: str
    cache: str
    decode: str

    epochs: int
    batch_size: int
    optimizer: str
    learning_rate: float | None
    warmup_epochs: int | None
    weight_decay: float | None
    momentum: float | None
    label_smoothing: float
    min_crop_area: float
    mirror: str
    seed: int

    precision: str | None
    xla: str | None
    compression: str
    deterministic: bool
    strategy: str

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
        if self.synthetic and self.cache != "off":
            raise UserError(f"'--synthetic' and '--cache {self.cache}' are both given; omit one: nothing is read")
        if (self.decode, self.cache) == ("gpu", "decoded"):
            raise UserError("'--decode gpu' and '--cache decoded' are both given; give one of them")

    def on_device(self, *, gpu: bool) -> "Settings":
        """Return the settings with the precision and the compiler of a GPU or a CPU, where they are not given."""
        precision, xla = ("mixed_float16", "on") if gpu else ("float32", "off")
        return replace(self, precision=self.precision or precision, xla=self.xla or xla)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line.

    Raises:
        UserError: A value is not allowed, or two values exclude each other.
    """
    parser = RankParser(prog="python -m training.resnet50", description=_DESCRIPTION)
    _add_data(parser)
    _add_recipe(parser)
    run_options.add_machine(parser)
    _add_strategy(parser.add_argument_group("ranks"))
    run_options.add_output(parser, files="checkpoints/, tensorboard/, results.json, curve.svg and model.keras")
    return Settings(**vars(parser.parse_args(arguments)))


def strategy_of(arguments: Sequence[str]) -> str:
    """Return the strategy of a command line, whose other mistakes the ranks report when they are connected."""
    parser = command_line.Parser(add_help=False)
    _add_strategy(parser)
    try:
        return str(parser.parse_known_args(arguments)[0].strategy)
    except UserError:
        return STRATEGIES[0]


def _add_strategy(add_to: argparse._ActionsContainer) -> None:
    add_to.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default=STRATEGIES[0],
        help="what connects the ranks that mpirun starts; multiworker is TensorFlow's MultiWorkerMirroredStrategy, "
        "which needs no Horovod; elastic jobs need horovod; a run may change it when it resumes (%(default)s)",
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    add = group.add_argument
    add("--data-dir", type=command_line.path, help=f"folder of {_LAYOUTS}")
    add("--synthetic", action="store_true", help="random images from memory instead, to measure speed without input")
    add("--image-size", type=command_line.whole_number(32), default=224, help="pixels of each side (%(default)s)")
    add("--classes", type=command_line.whole_number(2), default=1000, help="labels are 1 to this (%(default)s)")
    run_options.add_on_bad_data(group)
    add(
        "--cache",
        choices=("off", "records", "decoded"),
        default="off",
        help="keep in memory after the first epoch: the records, for slow storage; or the images, decoded and reduced "
        "to a short side of 256 pixels, for few CPU cores (%(default)s)",
    )
    add(
        "--decode",
        choices=("cpu", "gpu"),
        default="cpu",
        help="where JPEGs are decoded; gpu needs NVIDIA DALI, and was not run on a GPU yet (%(default)s)",
    )


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("recipe").add_argument
    add("--epochs", type=command_line.whole_number(1), default=90, help="passes over the images (%(default)s)")
    add("--batch-size", type=command_line.whole_number(1), default=256, help="images per rank and step (%(default)s)")
    add(
        "--optimizer",
        choices=("sgd", "lars"),
        default="sgd",
        help="lars for 8,192 images a step over all ranks, and more (%(default)s)",
    )
    rate = command_line.positive_number
    add("--learning-rate", type=rate, help="for 256 images of a step (sgd: 0.256; lars: MLPerf's for this batch)")
    warmup = command_line.whole_number(0)
    add("--warmup-epochs", type=warmup, help="epochs to reach that rate (sgd: 5; lars: MLPerf's for this batch)")
    add(
        "--weight-decay",
        type=command_line.number_from(0),
        help="factor of the L2 term's gradient (sgd: 1/32768; lars: MLPerf's for this batch)",
    )
    add(
        "--momentum",
        type=command_line.number_from(0, 0.999999),
        help="part of the step before that each step repeats (sgd: 0.875; lars: MLPerf's for this batch)",
    )
    seed = command_line.whole_number(0, 2**32 - 1)
    add("--seed", type=seed, default=0, help="of the weights, the order of images and their crops (%(default)s)")
    _add_augmentation(add)


def _add_augmentation(add: Callable[..., Any]) -> None:
    share = command_line.number_from(0, 0.9)
    add("--label-smoothing", type=share, default=0.1, help="share spread over all classes (%(default)s)")
    add(
        "--min-crop-area",
        type=command_line.number_from(0.01, 1),
        default=MIN_CROP_AREA,
        help="smallest crop, as a part of the image; larger where a small part does not show the class (%(default)s)",
    )
    add(
        "--mirror",
        choices=("on", "off"),
        default="on",
        help="mirror half of the training images; off for writing and whatever else has sides (%(default)s)",
    )
