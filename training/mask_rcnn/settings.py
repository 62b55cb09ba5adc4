"""The command line of `python -m training.mask_rcnn`, and the settings of a run that it makes."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from training.mask_rcnn.recipe import RECIPES
from training.runtime import command_line, run_options
from training.runtime.distributed import RankParser
from training.runtime.errors import UserError
from training.runtime.every import Every

_DESCRIPTION = "Train Mask R-CNN with ResNet-50-FPN on COCO 2017, or on another dataset in its format."

#: Short side and the most of the long side in pixels, by architecture.
SIDES = {"resnet50-fpn": (800, 1333), "small": (128, 192)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """A run's options, a field each; `python -m training.mask_rcnn --help` says what they mean.

    None is an option that was not given: the architecture decides `short_side` and `long_side`, the recipe decides
    `batch_size`, `learning_rate`, `warmup_steps` and `clip_norm`, and the device decides `precision` and `xla`.
    """

    data_dir: Path
    architecture: str
    backbone: Path | None
    short_side: int
    long_side: int
    on_bad_data: str

    recipe: str
    epochs: int
    batch_size: int | None
    learning_rate: float | None
    warmup_steps: int | None
    clip_norm: float | None
    seed: int

    precision: str | None
    xla: str | None
    compression: str
    deterministic: bool

    output_dir: Path
    checkpoint_every: Every
    evaluate_every: Every
    keep_checkpoints: int

    def __post_init__(self) -> None:
        """Reject sizes that exclude each other, and a backbone that the small network does not have."""
        if self.long_side < self.short_side:
            raise UserError(
                f"'--long-side' is {self.long_side} but '--short-side' is {self.short_side}; give a long side of "
                f"{self.short_side} or more"
            )
        if self.architecture == "small" and self.backbone is not None:
            raise UserError(
                f"'--backbone' is {self.backbone} but '--architecture' is small, whose backbone is another; omit one"
            )

    def on_device(self, *, gpu: bool) -> "Settings":
        """Return the settings with the precision and the compiler of a GPU or a CPU, where they are not given."""
        precision, xla = ("mixed_float16", "on") if gpu else ("float32", "off")
        return replace(self, precision=self.precision or precision, xla=self.xla or xla)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line.

    Raises:
        UserError: A value is not allowed, or two values exclude each other.
    """
    parser = RankParser(prog="python -m training.mask_rcnn", description=_DESCRIPTION)
    _add_data(parser)
    _add_recipe(parser)
    run_options.add_machine(parser)
    run_options.add_output(
        parser,
        files="checkpoints/, tensorboard/, results.json, curve.svg, predictions.png and model.keras",
        evaluation=", and 24epochs tests no other, where training.mask_rcnn.evaluate tests beside the training",
    )
    given = vars(parser.parse_args(arguments))
    short, long = SIDES[given["architecture"]]
    return Settings(**{**given, "short_side": given["short_side"] or short, "long_side": given["long_side"] or long})


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data and network")
    add = group.add_argument
    add("--data-dir", type=command_line.path, required=True, help="folder that training.coco.convert has written")
    add(
        "--architecture",
        choices=tuple(SIDES),
        default="resnet50-fpn",
        help="small is for the made shapes of training.coco.shapes, on a CPU (%(default)s)",
    )
    add(
        "--backbone",
        type=command_line.path,
        help="model.keras of a finished run of training.resnet50; without it the backbone begins at random, all of it "
        "learns, and 24 epochs are too few",
    )
    side = command_line.whole_number(32)
    add("--short-side", type=side, help="pixels to which an image's short side is resized (800; small: 128)")
    add("--long-side", type=side, help="the most pixels of its long side, which decides otherwise (1333; small: 192)")
    run_options.add_on_bad_data(group)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("recipe").add_argument
    add(
        "--recipe",
        choices=tuple(RECIPES),
        default="reference",
        help="reference: one image per rank, 0.01 for 8 images; throughput: four, 0.0125, clipped at 1.5 (%(default)s)",
    )
    add("--epochs", type=command_line.whole_number(1), default=24, help="passes over the images (%(default)s)")
    add("--batch-size", type=command_line.whole_number(1), help="images per rank and step (the recipe's)")
    rate = command_line.positive_number
    add("--learning-rate", type=rate, help="for 8 images of a step (the recipe's)")
    add(
        "--warmup-steps",
        type=command_line.whole_number(0),
        help="steps to reach that rate (1,000; 1,800 for more than 128 images a step)",
    )
    add("--clip-norm", type=rate, help="the longest that all gradients together may be (the recipe's)")
    seed = command_line.whole_number(0, 2**31 - 1)
    add("--seed", type=seed, default=0, help="of weights, order, mirroring and sampled boxes (%(default)s)")
