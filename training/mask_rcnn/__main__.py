"""Train Mask R-CNN: mpirun -np 8 python -m training.mask_rcnn --data-dir /fsx/data/coco --output-dir /fsx/runs/a.

The network is in `training.mask_rcnn.model`, its losses are in `training.mask_rcnn.losses`, and epochs, checkpoints,
stop requests and results in `training.runtime.loop`.
"""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import horovod.tensorflow as hvd
import tensorflow as tf

from training.coco import batches, categories
from training.coco.batches import Batch
from training.coco.padded_shapes import PaddedShapes
from training.coco.run_images import load
from training.mask_rcnn import coco_metrics, drawings
from training.mask_rcnn.architecture import ARCHITECTURES, Architecture, architecture
from training.mask_rcnn.evaluation import Seen, Truth, evaluate, make_detection_step
from training.mask_rcnn.losses import check_first_losses, losses
from training.mask_rcnn.model import network_of
from training.mask_rcnn.recipe import RECIPES, Recipe
from training.records.image_job import ImageJob
from training.records.run_data import Data
from training.runtime import devices, elastic, horovod_ranks, options, tensorflow_ranks, training_run, watchdog
from training.runtime.command_line import path, positive_number, whole_number
from training.runtime.cores import data_threads
from training.runtime.distributed import RankParser, on_rank_zero, run
from training.runtime.errors import UserError
from training.runtime.every import Every
from training.runtime.network import Network
from training.runtime.options import changed, option
from training.runtime.run_settings import TensorFlowSettings
from training.runtime.stop_request import StopRequest
from training.runtime.task import Evaluation, LossCurves, Task
from training.runtime.train_step import make_train_step

# -------------------------------------------------------------------------------------------------------- settings

#: Short side and the most of the long side in pixels, by architecture.
SIDES = {"resnet50-fpn": (800, 1333), "small": (128, 192)}


@dataclass(frozen=True, kw_only=True)
class Settings(TensorFlowSettings):
    """The command line, an option a field.

    None is an option that was not given: the recipe decides `batch_size`, `learning_rate`, `warmup_steps` and
    `clip_norm` (see `with_recipe`), and the device decides `precision` and `xla` (see `on_device`).
    """

    data_dir: Path = changed(TensorFlowSettings, "data_dir", help="folder that training.coco.convert has written")
    architecture: str = option(
        tuple(ARCHITECTURES),
        "small is for the made shapes of training.coco.shapes, on a CPU",
        default="resnet50-fpn",
        group="network",
        learned=True,
    )
    backbone: Path | None = option(
        path,
        "model.keras of a finished run of training.resnet50; without it the backbone begins at random, all of it "
        "learns, and 24 epochs are too few",
        default=None,
        group="network",
        learned=lambda given: "given" if given else "none",
    )
    short_side: int = option(
        whole_number(32),
        "pixels to which an image's short side is resized (800; small: 128)",
        default=None,
        group="data",
        learned=True,
    )
    long_side: int = option(
        whole_number(32),
        "the most pixels of its long side, which decides otherwise (1333; small: 192)",
        default=None,
        group="data",
        learned=True,
    )

    recipe: str = option(
        tuple(RECIPES),
        "reference: one image per rank, 0.01 for 8 images; throughput: four, 0.0125, clipped at 1.5",
        default="reference",
        group="recipe",
    )
    epochs: int = changed(TensorFlowSettings, "epochs", default=24)
    batch_size: int = changed(
        TensorFlowSettings, "batch_size", default=None, help="images per rank and step (the recipe's)"
    )
    learning_rate: float | None = option(
        positive_number,
        "for 8 images of a step (the recipe's)",
        default=None,
        group="recipe",
        learned=options.printed,
    )
    warmup_steps: int | None = option(
        whole_number(0),
        "steps to reach that rate (1,000; 1,800 for more than 128 images a step)",
        default=None,
        group="recipe",
        learned=True,
    )
    clip_norm: float | None = option(
        positive_number,
        "the longest that all gradients together may be (the recipe's)",
        default=None,
        group="recipe",
        learned=True,
    )
    seed: int = changed(
        TensorFlowSettings,
        "seed",
        kind=whole_number(0, 2**31 - 1),
        help="of weights, order, mirroring and sampled boxes",
    )

    output_dir: Path = changed(
        TensorFlowSettings,
        "output_dir",
        help="folder for checkpoints/, tensorboard/, results.json, curve.svg, predictions.png and model.keras; a run "
        "in it resumes",
    )
    evaluate_every: Every = changed(
        TensorFlowSettings,
        "evaluate_every",
        help="test every 500steps, 2epochs or 10min; the last epoch is tested in any case, and 24epochs tests no "
        "other, where training.mask_rcnn.evaluate tests beside the training",
    )

    def __post_init__(self) -> None:
        """Choose the architecture's sizes where none are given; reject options that exclude each other."""
        short, long = SIDES[self.architecture]
        object.__setattr__(self, "short_side", self.short_side or short)
        object.__setattr__(self, "long_side", self.long_side or long)
        if self.long_side < self.short_side:
            raise UserError(
                f"'--long-side' is {self.long_side} but '--short-side' is {self.short_side}; give a long side of "
                f"{self.short_side} or more"
            )
        if self.architecture == "small" and self.backbone is not None:
            raise UserError(
                f"'--backbone' is {self.backbone} but '--architecture' is small, whose backbone is another; omit one"
            )

    def with_recipe(self, recipe: Recipe) -> "Settings":
        """Return the settings with all values of a recipe."""
        return dataclasses.replace(self, **{name: getattr(recipe, name) for name in _OF_RECIPE})

    def ways_to_less_memory(self) -> list[str]:
        """Return the options with which the run needs less memory, a clause each."""
        sides = f"'--short-side' is {self.short_side}, '--long-side' {self.long_side}: give smaller ones"
        return [*super().ways_to_less_memory(), sides]


# The options that a recipe decides where they are not given.
_OF_RECIPE = ("batch_size", "learning_rate", "warmup_steps", "clip_norm")


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    description = "Train Mask R-CNN with ResNet-50-FPN on COCO 2017, or on another dataset in its format."
    return options.parse(Settings, "training.mask_rcnn", description, arguments, parser=RankParser)


def recipe_of(settings: Settings) -> Recipe:
    """Return the recipe with the values that are given."""
    chosen = RECIPES[settings.recipe](epochs=settings.epochs)
    given = {name: getattr(settings, name) for name in _OF_RECIPE}
    return dataclasses.replace(chosen, **{name: value for name, value in given.items() if value is not None})


# ----------------------------------------------------------------------------------------------------- prepare a run

#: Gradients of a step of R50-FPN: 42 convolutions of the stages that learn, and kernel and bias of 8 layers of the
#: pyramid, 3 of the region proposals, 4 of the box head and 6 of the mask head.
GRADIENTS = 42 + 2 * (8 + 3 + 4 + 6)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """The parts that the restarts of an elastic run share.

    Attributes:
        settings: The command line, with the values of the device.
        device: Name of the device, such as `cpu` or the GPU's name.
        architecture: Architecture of the network.
        network: Model and optimizer.
        names: Names of the labels, from label 1.
        seen: Validation images of the newest evaluation with the objects found in them; on rank zero alone.
    """

    settings: Settings
    device: str
    architecture: Architecture
    network: Network
    names: Sequence[str]
    seen: list[Seen] = field(default_factory=list)


def prepare(given: Settings) -> Prepared:
    """Set up the device and make the network; every rank must call it.

    Raises:
        UserError: The dataset has no categories, or the backbone does not fit.
    """
    settings, device = devices.prepare(given, gradients=GRADIENTS)
    # Horovod: every rank stops where the file is missing on one.
    known = elastic.before_run(lambda: categories.read(settings.data_dir))
    chosen = architecture(settings.architecture, len(known), backbone=settings.backbone is not None)
    made = network_of(chosen, settings.precision, settings.backbone)
    names = [category.name for category in known]
    return Prepared(settings=settings, device=device, architecture=chosen, network=made, names=names)


def load_images(settings: Settings, prepared: Prepared) -> Data:
    """Find the images; every rank must call it.

    Raises:
        UserError: They are missing or damaged, or too few for a step or for the recipe; on every rank.
    """
    images = batches.Settings(
        shapes=PaddedShapes(settings.short_side, settings.long_side),
        classes=prepared.architecture.classes,
        threads=data_threads(hvd.local_size()),
        seed=settings.seed,
        device="/GPU:0" if prepared.device != "cpu" else None,
        skip_damaged=settings.skip_damaged,
    )
    return load(settings.data_dir, images, batch_size=settings.batch_size)


# ------------------------------------------------------------------------------------------------------------ train


def make_task(prepared: Prepared) -> Task:
    """Return the task of the current ranks.

    Raises:
        UserError: The images are damaged, or an option does not fit them or the number of ranks.
    """
    network, chosen = prepared.network, prepared.architecture
    recipe = recipe_of(prepared.settings)
    settings, global_batch = prepared.settings.with_recipe(recipe), recipe.batch_size * int(hvd.size())
    data = load_images(settings, prepared)
    truth = Truth.of_dataset(settings.data_dir, data.categories)
    # Now, not after the first epoch; the evaluation reads it again.
    on_rank_zero(lambda: bool(coco_metrics.read(truth.annotations)))
    recipe.check(training_images=data.training_images, global_batch=global_batch)

    def losses_of(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        return losses(network.model, Batch(*tensors), chosen)

    detection_step = make_detection_step(network.model, chosen)

    def evaluated() -> Evaluation:
        prepared.seen.clear()
        # Horovod: rank zero alone draws.
        keep = drawings.IMAGES if hvd.rank() == 0 else 0
        return evaluate(detection_step, data.validation_batches(), truth, prepared.seen, keep)

    job = ImageJob(
        settings=settings,
        device=prepared.device,
        versions=tensorflow_ranks.versions,
        data=data,
        network=network,
        network_sentences=network_sentences(settings, chosen),
        optimizer=network.optimizer,
        train_step=make_train_step(
            network,
            losses_of,
            decay=recipe.decay,
            clip_norm=recipe.clip_norm,
            compression=settings.compression,
            deterministic=settings.deterministic,
        ),
        check_first_losses=lambda found: check_first_losses(found, chosen.classes),
        evaluate=evaluated,
        rate=partial(recipe.rate, data.training_images),
        rate_sentences=[recipe.sentence(global_batch)],
        export=lambda: network.export(settings.output_dir / "model.keras"),
    )
    return job.task(
        score="segm/AP",
        loss_curves=LossCurves(total="total_loss", prefix="loss_"),
        draw=lambda: drawings.draw(settings.output_dir, prepared.seen, prepared.names),
    )


def network_sentences(settings: Settings, chosen: Architecture) -> list[str]:
    """Describe the network, and warn of one whose backbone is not trained."""
    begins = f"from {settings.backbone}, its first {chosen.frozen_stages} stages frozen"
    described = (
        f"network: {settings.architecture}, {chosen.classes} categories; backbone "
        f"{begins if settings.backbone else 'from random'}"
    )
    if settings.backbone or settings.architecture == "small":
        return [described]
    return [
        described,
        "warning: without '--backbone' the network begins at random and nothing of it is frozen; the published "
        "accuracy is of a backbone that was trained on ImageNet: give the model.keras of a finished run of "
        "training.resnet50",
    ]


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    stop = StopRequest()
    prepared = prepare(parse())
    network = prepared.network
    training_run.train(lambda: make_task(prepared), [*network.variables, *network.statistics], stop)


if __name__ == "__main__":
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    # Horovod: find the other ranks; without mpirun this one is alone.
    horovod_ranks.init()
    sys.exit(run(main))
