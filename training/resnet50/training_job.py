"""What a rank trains, with what, and how: everything that the command line decides."""

from dataclasses import dataclass
from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf

from training.resnet50 import model
from training.resnet50.rank_images import Data, load
from training.resnet50.recipe import MOMENTUM, Recipe, lars, sgd
from training.resnet50.settings import Settings
from training.resnet50.train_step import Network, StepOptions, make_network
from training.runtime import devices, elastic
from training.runtime.errors import UserError
from training.runtime.schedule import batch_sentence


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a rank trains, with what, and how.

    Attributes:
        settings: The command line, with what the device decides.
        device: What the rank computes on, such as `cpu` or the GPU's name.
        recipe: The optimizer and its schedule.
        data: Training images and validation images.
        network: Model and optimizer.
    """

    settings: Settings
    device: str
    recipe: Recipe
    data: Data
    network: Network

    @property
    def global_batch(self) -> int:
        """Images per step over the current ranks."""
        return self.settings.batch_size * int(hvd.size())

    @property
    def resume_settings(self) -> dict[str, Any]:
        """The options that decide what is learned: a run resumes only with the same.

        Without the batch and the ranks, which may change: the schedule counts images.
        """
        settings, recipe = self.settings, self.recipe
        return {
            "--epochs": settings.epochs,
            "--image-size": settings.image_size,
            "--classes": settings.classes,
            "--precision": settings.precision,
            "--optimizer": recipe.optimizer,
            # As it is printed, so that it can be given again.
            "--learning-rate": float(f"{recipe.learning_rate:g}"),
            "--warmup-epochs": recipe.schedule.warmup_epochs,
            "--weight-decay": float(f"{recipe.weight_decay:g}"),
            "--label-smoothing": settings.label_smoothing,
            "--min-crop-area": settings.min_crop_area,
            "--mirror": settings.mirror,
            # Records in memory change nothing that is learned.
            "--cache": "decoded" if settings.cache == "decoded" else "off",
            "--decode": settings.decode,
            "--seed": settings.seed,
        }

    @property
    def step_options(self) -> StepOptions:
        """The options of a training step."""
        settings = self.settings
        # As one group the gradients of more than two ranks always add up in the same order. Otherwise Horovod sends
        # each gradient as soon as it is computed, during the computation of the others. And only with single operations
        # does Horovod 0.28 recognize that a rank is lost.
        one_group = settings.deterministic and not elastic.active()
        return StepOptions(
            classes=settings.classes,
            label_smoothing=settings.label_smoothing,
            weight_decay=self.recipe.weight_decay,
            lars=self.recipe.optimizer == "lars",
            compression=hvd.Compression.fp16 if settings.compression == "fp16" else hvd.Compression.none,
            groups=1 if one_group else 0,
        )

    def sentences(self) -> list[str]:
        """Show the arithmetic so that a person can check it."""
        settings, images, batch = self.settings, self.data.training_images, self.global_batch
        steps = images // batch
        return [
            f"ranks: {hvd.size()}, of them {hvd.local_size()} on the machine of rank 0, which computes on: "
            f"{self.device}, in {settings.precision}",
            *self.data.sentences(),
            batch_sentence(settings.batch_size, hvd.size()),
            f"steps: {images} training images / {batch}, rounded down, = {steps} per epoch; x {settings.epochs} epochs "
            f"= {steps * settings.epochs}",
            self.recipe.sentence(batch),
        ]


def prepare(given: Settings) -> tuple[Settings, str, Network]:
    """Set up the device and make the network.

    Returns:
        The settings with what the device decides, the device's name, and the network.
    """
    device = devices.pin(hvd.local_rank(), hvd.local_size())
    settings = given.on_device(gpu=device != "cpu")
    tf.keras.mixed_precision.set_global_policy(settings.precision)
    if settings.xla == "on":
        tf.config.optimizer.set_jit("autoclustering")
    tf.keras.utils.set_random_seed(settings.seed)
    if settings.deterministic:
        tf.config.experimental.enable_op_determinism()
    network = make_network(model.build(settings.image_size, settings.classes), MOMENTUM[settings.optimizer])
    return settings, device, network


def make_job(settings: Settings, device: str, network: Network) -> Job:
    """Return what the current ranks train.

    Raises:
        UserError: The images are damaged, or an option does not fit them or the number of ranks.
    """
    chosen = _recipe(settings)
    data = load(settings, on_gpu=device != "cpu")
    return Job(settings=settings, device=device, recipe=chosen, data=data, network=network)


def _recipe(settings: Settings) -> Recipe:
    learning_rate, warmup, decay = settings.learning_rate, settings.warmup_epochs, settings.weight_decay
    if settings.optimizer == "sgd":
        return sgd(learning_rate=learning_rate, warmup_epochs=warmup, weight_decay=decay, epochs=settings.epochs)
    if elastic.active() and None in (learning_rate, warmup, decay):
        raise UserError(
            "'--optimizer' is lars, and the number of ranks may change: published values are for one global batch; "
            "give '--learning-rate', '--warmup-epochs' and '--weight-decay'"
        )
    return lars(
        learning_rate=learning_rate,
        warmup_epochs=warmup,
        weight_decay=decay,
        epochs=settings.epochs,
        global_batch=settings.batch_size * hvd.size(),
    )
