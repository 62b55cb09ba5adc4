"""What a rank trains, with what, and how: everything that the command line decides."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.imagenet import first_loss
from training.imagenet.imagenet_splits import TOTALS
from training.imagenet.split_accuracy import Accuracy
from training.imagenet.split_images import Data
from training.records import rank_records
from training.records.data_threads import data_threads
from training.records.shard_files import TRAIN, VALIDATION
from training.resnet50.recipe import Recipe, sgd
from training.runtime import ranks
from training.runtime.files import write_atomically
from training.runtime.position import Position
from training.runtime.schedule import batch_sentence, check_batch_size
from training.runtime.task import Evaluation, Plan, StepInput, Task
from training.torch_imagenet import image_batches, models, torch_devices
from training.torch_imagenet.evaluation import evaluate
from training.torch_imagenet.image_batches import ImageBatches, SyntheticBatches
from training.torch_imagenet.settings import Settings
from training.torch_imagenet.torch_framework import TORCH
from training.torch_imagenet.torch_network import Network
from training.torch_imagenet.torch_step import forward_of, make_train_step


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a rank trains, with what, and how.

    Attributes:
        settings: The command line, with what the device decides.
        device: What the rank computes on.
        recipe: The optimizer and its schedule.
        data: Training images and validation images.
        network: Model and optimizer.
    """

    settings: Settings
    device: torch.device
    recipe: Recipe
    data: Data
    network: Network

    @property
    def global_batch(self) -> int:
        """Images per step over the current ranks."""
        return self.settings.batch_size * ranks.size()

    @property
    def resume_settings(self) -> dict[str, Any]:
        """The options that decide what is learned: a run resumes only with the same.

        Without the batch and the ranks, which may change: the schedule counts images.
        """
        settings, recipe = self.settings, self.recipe
        return {
            "--model": settings.model,
            "--epochs": settings.epochs,
            "--image-size": settings.pixels,
            "--classes": settings.classes,
            "--precision": settings.precision,
            # As it is printed, so that it can be given again.
            "--learning-rate": float(f"{recipe.learning_rate:g}"),
            "--warmup-epochs": recipe.schedule.warmup_epochs,
            "--weight-decay": float(f"{recipe.weight_decay:g}"),
            "--momentum": float(f"{recipe.momentum:g}"),
            "--label-smoothing": settings.label_smoothing,
            "--min-crop-area": settings.min_crop_area,
            "--mirror": settings.mirror,
            "--seed": settings.seed,
        }

    def task(self) -> Task:
        """Return what the loop needs."""
        settings, network, data, precision = self.settings, self.network, self.data, str(self.settings.precision)
        forward = forward_of(network, self.device, deterministic=settings.deterministic, compiled=settings.compile)

        def evaluated() -> Evaluation:
            accuracy: Accuracy = evaluate(network.model, data.validation_batches(), precision=precision)
            return accuracy.evaluation()

        return Task(
            plan=self._plan(),
            sentences=self.sentences(),
            settings=self.resume_settings,
            variables=network.variables,
            statistics=network.statistics,
            optimizer=network,
            train_step=make_train_step(network, forward, precision=precision, label_smoothing=settings.label_smoothing),
            batches=self._batches,
            rate=self._rate,
            evaluate=evaluated,
            framework=TORCH,
            lower=_lower(settings),
            check_first_losses=lambda losses: first_loss.check(losses["training"], settings.classes),
            resume=partial(data.resume, settings.output_dir),
            names=("position", "skipped", "training_images"),
            metadata=data.metadata,
            figures=self._figures,
            export=lambda: _export(network.model, settings.output_dir / "model.pt"),
        )

    def _plan(self) -> Plan:
        settings = self.settings
        return Plan(
            output=settings.output_dir,
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            training_images=self.data.training_images,
            checkpoint_every=settings.checkpoint_every,
            evaluate_every=settings.evaluate_every,
            keep_checkpoints=settings.keep_checkpoints,
        )

    def _batches(self, position: Position) -> Iterator[StepInput]:
        batches = self.data.training_batches(position)
        for step, (images, labels, flips, _) in enumerate(batches, start=position.step):
            yield StepInput((images, labels, flips, _seed(self.settings.seed, step)))

    def _rate(self, position: Position) -> float:
        epoch = position.epoch + position.images / self.data.training_images
        return self.recipe.rate(epoch, self.global_batch)

    def _figures(self) -> dict[str, Any]:
        skipped = self.data.skipped()
        return {
            "damaged_records": self.data.damaged + sum(len(numbers) for numbers in skipped.values()),
            "device": torch_devices.name(self.device),
            "model": self.settings.model,
            "precision": self.settings.precision,
        }

    def sentences(self) -> list[str]:
        """Show the arithmetic so that a person can check it."""
        settings, images, batch = self.settings, self.data.training_images, self.global_batch
        steps = images // batch
        return [
            f"ranks: {ranks.size()}, of them {ranks.current().local_size()} on the machine of rank 0, which computes "
            f"on: {torch_devices.name(self.device)}, in {settings.precision}",
            f"network: {settings.model}, {sum(each.numel() for each in self.network.model.parameters()):,} parameters",
            *self.data.sentences(),
            batch_sentence(settings.batch_size, ranks.size()),
            f"steps: {images} training images / {batch}, rounded down, = {steps} per epoch; x {settings.epochs} epochs "
            f"= {steps * settings.epochs}",
            self.recipe.sentence(batch),
            *self.recipe.warnings(batch, ranks.size()),
        ]


def make_job(settings: Settings, device: torch.device) -> Job:
    """Return what the current ranks train.

    Raises:
        UserError: The images are damaged, or an option does not fit them or the number of ranks.
    """
    recipe = sgd(
        learning_rate=settings.learning_rate,
        warmup_epochs=settings.warmup_epochs,
        weight_decay=settings.weight_decay,
        momentum=settings.momentum,
        epochs=settings.epochs,
    )
    if settings.deterministic:
        torch_devices.make_deterministic()
    torch.backends.cudnn.benchmark = not settings.deterministic
    torch.manual_seed(settings.seed)
    model = models.build(settings.model, settings.classes).to(device)
    network = Network(
        model,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        scaled=settings.precision == "mixed_float16",
    )
    return Job(settings=settings, device=device, recipe=recipe, data=_load(settings, device), network=network)


def _load(settings: Settings, device: torch.device) -> Data:
    """Find the images; every rank must call it."""
    local = ranks.current().local_size()
    making = image_batches.Settings(
        image_size=settings.pixels,
        classes=settings.classes,
        workers=data_threads(local) if settings.data_workers is None else settings.data_workers,
        min_crop_area=settings.min_crop_area,
        seed=settings.seed,
        mirror=settings.mirror == "on",
        device=device,
        skip_damaged=settings.on_bad_data == "skip",
    )
    data = _synthetic(settings, making) if settings.data_dir is None else _from_files(settings, making)
    check_batch_size(settings.batch_size, images=data.training_images, ranks=ranks.size())
    return data


def _synthetic(settings: Settings, making: image_batches.Settings) -> Data:
    return Data(
        training_images=TOTALS[TRAIN],
        validation_images=TOTALS[VALIDATION],
        training=SyntheticBatches(making),
        validation=SyntheticBatches(making),
        batch_size=settings.batch_size,
        seed=settings.seed,
    )


def _from_files(settings: Settings, making: image_batches.Settings) -> Data:
    assert settings.data_dir is not None
    train, validation = rank_records.open_splits(
        settings.data_dir, (TRAIN, VALIDATION), classes=settings.classes, skip_damaged=making.skip_damaged
    )
    return Data(
        training_images=len(train),
        validation_images=len(validation),
        training=ImageBatches(train, making),
        validation=ImageBatches(validation, making),
        batch_size=settings.batch_size,
        seed=settings.seed,
        damage=[*train.damage, *validation.damage],
        damaged=train.damaged + validation.damaged,
        fingerprint={**train.fingerprint, **validation.fingerprint},
    )


def _seed(seed: int, step: int) -> int:
    """Return the seed of what a step of this rank drops at random."""
    drawn = np.random.SeedSequence([seed, step, ranks.rank()]).generate_state(1, np.uint64)[0]
    return int(drawn >> np.uint64(1))


def _export(model: torch.nn.Module, path: Path) -> None:
    """Write the weights at once, for `load_state_dict` of the network that `models.build` makes.

    Without the padding of `resnet50-same`, which is no part of the weights: torchvision's resnet50 loads its file
    without an error, and computes something else until `pad_as_tensorflow` has changed it.
    """
    # On the CPU: a machine without a GPU cannot load them otherwise.
    weights = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    # Through memory: where a disk is full, torch.save raises an error that does not say so.
    content = io.BytesIO()
    torch.save(weights, content)
    write_atomically(path, [content.getbuffer()])


def _lower(settings: Settings) -> str:
    """Return what to do where the memory does not suffice."""
    size = settings.batch_size
    ways = [f"'--batch-size' is {size}: give {size // 2} or less"] if size > 1 else []
    if settings.precision == "float32":
        ways.append("on a GPU '--precision mixed_float16' halves what the layers keep")
    return "; ".join(ways) or f"'--image-size' is {settings.pixels}: give a smaller one"
