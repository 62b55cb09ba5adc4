"""What a rank trains, with what, and how: everything that the command line decides."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from training.coco import batches, categories
from training.coco.batches import Batch
from training.coco.convert import validation_truth
from training.coco.padded_shapes import PaddedShapes
from training.coco.run_images import Data, load
from training.mask_rcnn import coco_metrics, drawings, model
from training.mask_rcnn.architecture import RESNET50_FPN, SMALL, Architecture
from training.mask_rcnn.drawings import Drawn
from training.mask_rcnn.evaluation import Seen, Truth, evaluate, make_detection_step
from training.mask_rcnn.losses import losses
from training.mask_rcnn.recipe import RECIPES, Recipe
from training.mask_rcnn.settings import Settings
from training.records.data_threads import data_threads
from training.runtime import devices, elastic, xla
from training.runtime.distributed import on_rank_zero
from training.runtime.errors import UserError
from training.runtime.network import Network, make_network
from training.runtime.position import Position
from training.runtime.schedule import batch_sentence
from training.runtime.task import Evaluation, LossCurves, Plan, StepInput, Task
from training.runtime.tensorflow_framework import TENSORFLOW
from training.runtime.train_step import Losses, StepOptions, make_train_step

_ARCHITECTURES = {"resnet50-fpn": RESNET50_FPN, "small": SMALL}

#: Gradients of a step of R50-FPN: 42 convolutions of the stages that learn, and kernel and bias of 8 layers of the
#: pyramid, 3 of the region proposals, 4 of the box head and 6 of the mask head.
GRADIENTS = 42 + 2 * (8 + 3 + 4 + 6)

# How far the first losses may be from those of a network that has learned nothing.
_FIRST_LOSS_DISTANCE = {"rpn_cls": 0.35, "cls": 1.0, "mask": 0.35}


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """What the restarts of an elastic run share.

    Attributes:
        settings: The command line, with what the device decides.
        device: What the rank computes on, such as `cpu` or the GPU's name.
        architecture: Of the network.
        network: Model and optimizer.
        names: Of the labels, from label 1.
        seen: Validation images of the newest evaluation with what was found in them; on rank zero alone.
    """

    settings: Settings
    device: str
    architecture: Architecture
    network: Network
    names: Sequence[str]
    seen: list[Seen] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a rank trains, with what, and how.

    Attributes:
        prepared: Settings and network.
        recipe: The optimizer and its schedule.
        data: Training images and validation images.
    """

    prepared: Prepared
    recipe: Recipe
    data: Data

    @property
    def global_batch(self) -> int:
        """Images per step over the current ranks."""
        return self.recipe.batch_size * int(hvd.size())

    @property
    def resume_settings(self) -> dict[str, Any]:
        """The options that decide what is learned: a run resumes only with the same.

        Without the batch and the ranks, which may change: the schedule counts images.
        """
        settings, recipe = self.prepared.settings, self.recipe
        return {
            "--architecture": settings.architecture,
            "--backbone": "given" if settings.backbone else "none",
            "--short-side": settings.short_side,
            "--long-side": settings.long_side,
            "--precision": settings.precision,
            "--epochs": settings.epochs,
            # As it is printed, so that it can be given again.
            "--learning-rate": float(f"{recipe.learning_rate:g}"),
            "--warmup-steps": recipe.warmup_steps,
            "--clip-norm": recipe.clip_norm,
            "--seed": settings.seed,
        }

    def task(self) -> Task:
        """Return what the loop needs, with compiled steps."""
        settings, network, data = self.prepared.settings, self.prepared.network, self.data
        architecture = self.prepared.architecture
        return Task(
            plan=self._plan(),
            sentences=self.sentences(),
            settings=self.resume_settings,
            variables=network.variables,
            statistics=network.statistics,
            optimizer=network.optimizer,
            train_step=make_train_step(network, losses_of(network.model, architecture), self.step_options()),
            batches=self._batches,
            rate=self._rate,
            evaluate=self._evaluation(),
            framework=TENSORFLOW,
            lower=_lower(settings, self.recipe),
            score="segm/AP",
            loss_curves=LossCurves(total="total_loss", prefix="loss_"),
            check_first_losses=lambda found: check_first_losses(found, architecture.classes),
            resume=lambda written: data.resume(settings.output_dir, written),
            names=("position", "skipped", "training_images"),
            metadata=self._metadata,
            figures=self._figures,
            export=lambda: network.export(settings.output_dir / "model.keras"),
            draw=self._draw,
        )

    def step_options(self) -> StepOptions:
        """Return the options of a training step."""
        settings = self.prepared.settings
        return StepOptions.of_run(
            decay=self.recipe.decay,
            clip_norm=self.recipe.clip_norm,
            compression=settings.compression,
            deterministic=settings.deterministic,
        )

    def _plan(self) -> Plan:
        settings = self.prepared.settings
        return Plan(
            output=settings.output_dir,
            epochs=settings.epochs,
            batch_size=self.recipe.batch_size,
            training_images=self.data.training_images,
            checkpoint_every=settings.checkpoint_every,
            evaluate_every=settings.evaluate_every,
            keep_checkpoints=settings.keep_checkpoints,
        )

    def _batches(self, position: Position) -> Iterator[StepInput]:
        for batch in self.data.training_batches(position):
            yield StepInput(batch)

    def _rate(self, position: Position) -> float:
        images = self.data.training_images
        epoch = position.epoch + position.images / images
        return self.recipe.rate(epoch, training_images=images, global_batch=self.global_batch)

    def _evaluation(self) -> Callable[[], Evaluation]:
        step = make_detection_step(self.prepared.network.model, self.prepared.architecture)
        seen, truth = self.prepared.seen, truth_of(self.prepared.settings.data_dir, self.data)

        def evaluated() -> Evaluation:
            seen.clear()
            # Horovod: rank zero alone draws.
            keep = drawings.IMAGES if hvd.rank() == 0 else 0
            return evaluate(step, self.data.validation_batches(), truth, seen, keep)

        return evaluated

    def _metadata(self) -> dict[str, Any]:
        data = self.data
        return {
            "skipped": data.skipped(),
            "training_images": data.training_images,
            "dataset": dict(data.fingerprint),
        }

    def _figures(self) -> dict[str, Any]:
        skipped = self.data.skipped()
        return {
            "damaged_records": self.data.damaged + sum(len(numbers) for numbers in skipped.values()),
            "device": self.prepared.device,
            "precision": self.prepared.settings.precision,
        }

    def _draw(self) -> None:
        pairs = [(_truth(each), _found(each)) for each in self.prepared.seen]
        drawings.draw(self.prepared.settings.output_dir, pairs, self.prepared.names)

    def sentences(self) -> list[str]:
        """Show the arithmetic so that a person can check it."""
        settings, images, batch = self.prepared.settings, self.data.training_images, self.global_batch
        steps = images // batch
        frozen = self.prepared.architecture.frozen_stages
        return [
            f"ranks: {hvd.size()}, of them {hvd.local_size()} on the machine of rank 0, which computes on: "
            f"{self.prepared.device}, in {settings.precision}",
            *self.data.sentences(),
            f"network: {settings.architecture}, {self.prepared.architecture.classes} categories; backbone "
            + (f"from {settings.backbone}, its first {frozen} stages frozen" if settings.backbone else "from random"),
            *_warnings(settings),
            batch_sentence(self.recipe.batch_size, hvd.size()),
            f"steps: {images} training images / {batch}, rounded down, = {steps} per epoch at most; x "
            f"{settings.epochs} epochs = {steps * settings.epochs}",
            self.recipe.sentence(batch),
        ]


def losses_of(network: tf.keras.Model, architecture: Architecture) -> Losses:
    """Return the forward pass of a model in training: the tensors of a batch to the five losses."""

    def of_tensors(*tensors: tf.Tensor) -> Mapping[str, tf.Tensor]:
        return losses(network, Batch(*tensors), architecture)

    return of_tensors


def prepare(given: Settings) -> Prepared:
    """Set up the device and make the network; every rank must call it.

    Raises:
        UserError: The dataset has no categories, or the backbone does not fit.
    """
    if given.xla != "off":
        # Before TensorFlow looks for devices, so before a GPU has decided on XLA; without XLA it has no effect.
        xla.limit_clusters(GRADIENTS)
    device = devices.pin(hvd.local_rank(), hvd.local_size())
    settings = given.on_device(gpu=device != "cpu")
    if settings.xla == "on":
        tf.config.optimizer.set_jit("autoclustering")
    tf.keras.utils.set_random_seed(settings.seed)
    if settings.deterministic:
        tf.config.experimental.enable_op_determinism()
    # Horovod: every rank stops where the file is missing on one.
    known = elastic.before_run(lambda: categories.read(settings.data_dir))
    chosen = architecture(settings.architecture, len(known), backbone=settings.backbone is not None)
    made = network_of(chosen, settings.precision, settings.backbone)
    names = [category.name for category in known]
    return Prepared(settings=settings, device=device, architecture=chosen, network=made, names=names)


def architecture(name: str, classes: int, *, backbone: bool) -> Architecture:
    """Return an architecture for a number of categories; without a trained backbone nothing of it is frozen.

    Args:
        name: Given as '--architecture'.
        classes: Categories of the dataset.
        backbone: Whether its weights are given.
    """
    chosen = dataclasses.replace(_ARCHITECTURES[name], classes=classes)
    return chosen if backbone else dataclasses.replace(chosen, frozen_stages=0, frozen_normalization=False)


def network_of(chosen: Architecture, precision: str | None, backbone: Path | None) -> Network:
    """Return the network of an architecture with its optimizer; every rank must call it where a backbone is given."""
    tf.keras.mixed_precision.set_global_policy(precision)
    made = model.build(chosen)
    if backbone is not None:
        elastic.before_run(lambda: model.load_backbone(made, backbone))
    return make_network(made, RECIPES["reference"](epochs=1).momentum)


def make_job(prepared: Prepared) -> Job:
    """Return what the current ranks train.

    Raises:
        UserError: The images are damaged, or an option does not fit them or the number of ranks.
    """
    settings = prepared.settings
    recipe = recipe_of(settings)
    images = batches.Settings(
        shapes=PaddedShapes(settings.short_side, settings.long_side),
        classes=prepared.architecture.classes,
        threads=data_threads(hvd.local_size()),
        seed=settings.seed,
        device="/GPU:0" if prepared.device != "cpu" else None,
        skip_damaged=settings.on_bad_data == "skip",
    )
    data = load(settings.data_dir, images, batch_size=recipe.batch_size)
    # Now, not after the first epoch; the evaluation reads it again.
    on_rank_zero(lambda: bool(coco_metrics.read(truth_of(settings.data_dir, data).annotations)))
    recipe.check(training_images=data.training_images, global_batch=recipe.batch_size * hvd.size())
    return Job(prepared=prepared, recipe=recipe, data=data)


def truth_of(folder: Path, data: Data) -> Truth:
    """Return what the detections of a dataset's validation images are compared with."""
    return Truth(
        annotations=folder / validation_truth.NAME, coco_ids=[category.coco_id for category in data.categories]
    )


def recipe_of(settings: Settings) -> Recipe:
    """Return the recipe with the values that are given."""
    chosen = RECIPES[settings.recipe](epochs=settings.epochs)
    given = {name: getattr(settings, name) for name in ("batch_size", "learning_rate", "warmup_steps", "clip_norm")}
    return dataclasses.replace(chosen, **{name: value for name, value in given.items() if value is not None})


def check_first_losses(found: Mapping[str, float], classes: int) -> None:
    """Reject first losses that are not those of an untrained network.

    Half of the anchors are called objects, and each class of a proposal is as likely as the others. Without an object
    in the first images, the loss of masks is 0.

    Raises:
        UserError: Images or annotations are not what the run takes them for.
    """
    expected = {"rpn_cls": math.log(2), "cls": math.log(1 + classes), "mask": math.log(2)}
    for name, distance in _FIRST_LOSS_DISTANCE.items():
        least = 0.0 if name == "mask" else expected[name] - distance
        if not least <= found[name] <= expected[name] + distance:
            raise UserError(
                f"the first loss '{name}' is {found[name]:.2f}, but before anything is learned it is about "
                f"{expected[name]:.2f}; check the images and the annotations, or another '--backbone'"
            )


def _truth(seen: Seen) -> Drawn:
    return Drawn(seen.image, seen.boxes, seen.labels, np.ones(len(seen.labels)), seen.masks)


def _found(seen: Seen) -> Drawn:
    return Drawn(seen.image, seen.found.boxes, seen.found.labels, seen.found.scores, seen.found.masks)


def _warnings(settings: Settings) -> list[str]:
    if settings.backbone or settings.architecture == "small":
        return []
    return [
        "warning: without '--backbone' the network begins at random and nothing of it is frozen; the published "
        "accuracy is of a backbone that was trained on ImageNet: give the model.keras of a finished run of "
        "training.resnet50"
    ]


def _lower(settings: Settings, recipe: Recipe) -> str:
    """Return what to do where the memory does not suffice."""
    size = recipe.batch_size
    ways = [f"'--batch-size' is {size}: give {size // 2} or less"] if size > 1 else []
    if settings.precision == "float32":
        ways.append("on a GPU '--precision mixed_float16' halves what the layers keep")
    ways.append(f"'--short-side' is {settings.short_side}, '--long-side' {settings.long_side}: give smaller ones")
    return "; ".join(ways)
