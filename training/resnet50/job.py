"""What a rank trains, with what, and how: everything that the command line decides."""

import argparse
from dataclasses import dataclass
from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf

from training.resnet50 import model, schedule
from training.resnet50.data import Data, load
from training.resnet50.train_step import Network, StepOptions, make_network
from training.runtime import devices, elastic
from training.runtime.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a rank trains, with what, and how.

    Attributes:
        options: The command line, with the precision that the device decided.
        device: What the rank computes on, such as `cpu` or the GPU's name.
        recipe: The optimizer and its schedule.
        data: Images to train on and to test with.
        network: Model and optimizer.
    """

    options: argparse.Namespace
    device: str
    recipe: schedule.Recipe
    data: Data
    network: Network

    @property
    def global_batch(self) -> int:
        """Images a step over the ranks that there are now."""
        return self.options.batch_size * hvd.size()

    @property
    def settings(self) -> dict[str, Any]:
        """What decides what is learned: a run goes on only with the same.

        Not the batch and the ranks, which may change: the schedule counts images.
        """
        given, recipe = self.options, self.recipe
        return {
            "--epochs": recipe.epochs,
            "--image-size": given.image_size,
            "--classes": given.classes,
            "--precision": given.precision,
            "--optimizer": recipe.optimizer,
            # As it is told, so that it can be given again.
            "--learning-rate": float(f"{recipe.learning_rate:g}"),
            "--warmup-epochs": recipe.warmup_epochs,
            "--weight-decay": float(f"{recipe.weight_decay:g}"),
            "--label-smoothing": given.label_smoothing,
            "--min-crop-area": given.min_crop_area,
            "--mirror": given.mirror,
            "--seed": given.seed,
        }

    @property
    def step_options(self) -> StepOptions:
        """What a step does besides."""
        given = self.options
        return StepOptions(
            classes=given.classes,
            label_smoothing=given.label_smoothing,
            weight_decay=self.recipe.weight_decay,
            lars=self.recipe.optimizer == "lars",
            compression=hvd.Compression.fp16 if given.compression == "fp16" else hvd.Compression.none,
            groups=self._groups,
        )

    @property
    def _groups(self) -> int:
        # As one group the gradients of more than two ranks always add up in the same order. Otherwise Horovod sends
        # each as soon as it is there, while the others are computed. And by single operations only does Horovod 0.28
        # recognize that a rank is lost.
        return 1 if self.options.deterministic and not elastic.active() else 0

    def sentences(self) -> list[str]:
        """Says what will be done so that a person can check it."""
        given, images, batch = self.options, self.data.training_images, self.global_batch
        steps = images // batch
        return [
            f"ranks: {hvd.size()}, of them {hvd.local_size()} on the machine of rank 0, which computes on: "
            f"{self.device}, in {given.precision}",
            *self.data.sentences(),
            f"batch: {given.batch_size} images per rank x {hvd.size()} ranks = {batch} images per step",
            f"steps: {images} training images / {batch}, rounded down, = {steps} per epoch; x {given.epochs} epochs = "
            f"{steps * given.epochs}",
            self.recipe.sentence(batch),
        ]


def prepare(given: argparse.Namespace) -> tuple[str, Network]:
    """Sets the device up and makes the network, and decides the options that depend on the device.

    Returns:
        The device's name, and the network.
    """
    device = devices.pin(hvd.local_rank(), hvd.local_size())
    on_gpu = device != "cpu"
    given.precision = given.precision or ("mixed_float16" if on_gpu else "float32")
    given.xla = given.xla or ("on" if on_gpu else "off")
    tf.keras.mixed_precision.set_global_policy(given.precision)
    if given.xla == "on":
        tf.config.optimizer.set_jit("autoclustering")
    tf.keras.utils.set_random_seed(given.seed)
    if given.deterministic:
        tf.config.experimental.enable_op_determinism()
    return device, make_network(model.build(given.image_size, given.classes), schedule.MOMENTUM[given.optimizer])


def make_job(given: argparse.Namespace, device: str, network: Network) -> Job:
    """Puts together what the ranks that there are now train.

    Raises:
        UserError: The images are not what they should be, or an option does not go with them or with the ranks.
    """
    recipe = _recipe(given)
    return Job(options=given, device=device, recipe=recipe, data=load(given, on_gpu=device != "cpu"), network=network)


def _recipe(given: argparse.Namespace) -> schedule.Recipe:
    values = {name: getattr(given, name) for name in ("learning_rate", "warmup_epochs", "weight_decay", "epochs")}
    if given.optimizer == "lars":
        if elastic.active() and None in values.values():
            raise UserError(
                "'--optimizer' is lars, and the number of ranks may change: what is published for one batch would not "
                "do for another; give '--learning-rate', '--warmup-epochs' and '--weight-decay'"
            )
        return schedule.lars(**values, global_batch=given.batch_size * hvd.size())
    return schedule.sgd(**values)
