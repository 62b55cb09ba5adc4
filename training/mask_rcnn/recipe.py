"""The optimizer and its schedule: the reference recipe of Mask R-CNN, and the one for throughput.

Rates are given for 8 images of the global batch and follow the images that were trained on, so that a run can resume
with another number of ranks and each image keeps its weight.
"""

from collections.abc import Callable
from dataclasses import dataclass

import tensorflow as tf

from training.runtime.errors import UserError

#: Images for which a learning rate is given, as in the published schedules: 8 GPUs with one image each.
IMAGES = 8

#: Part of the step before that each step repeats, in every recipe.
MOMENTUM = 0.9

# Detectron2's factor before the first step.
_START = 0.001

# For 24 epochs of https://github.com/aws-samples/mask-rcnn-tensorflow, otherwise Detectron's 2/3 and 8/9 of a run.
_DROPS = {24: (16.0, 20.0)}
_DROP = 0.1

# Up to this many images a step the published warm-up is 1,000 steps or less, and 1,800 for 256 (MLPerf's reference
# runs: https://github.com/mlcommons/logging/tree/master/mlperf_logging/rcp_checker).
_LARGE_BATCH = 128
_WARMUP_STEPS, _LARGE_WARMUP_STEPS = 1_000, 1_800


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The optimizer and its schedule.

    Attributes:
        name: `reference` or `throughput`.
        batch_size: Images per rank and step.
        learning_rate: After the warm-up, for 8 images of the global batch.
        clip_norm: The longest that the gradients of all weights together may be; None for any length.
        epochs: Passes over the training images.
        warmup_steps: In which the rate rises; None for as many as are published for the batch.
        weight_decay: Factor of the L2 term's gradient.
    """

    name: str
    batch_size: int
    learning_rate: float
    clip_norm: float | None
    epochs: int
    warmup_steps: int | None = None
    weight_decay: float = 1e-4

    @property
    def drops(self) -> tuple[float, float]:
        """The epochs after which the rate is a tenth of that before."""
        return _DROPS.get(self.epochs, (self.epochs * 2 / 3, self.epochs * 8 / 9))

    def rate(self, training_images: int, epoch: float, global_batch: int) -> float:
        """Return the learning rate after this number of epochs, which may be a fraction.

        Args:
            training_images: Images per epoch.
            epoch: Epochs since the run began.
            global_batch: Images per step over all ranks.
        """
        peak = self.learning_rate * global_batch / IMAGES
        steps, warmup = epoch * training_images / global_batch, self.steps_of_warmup(global_batch)
        if steps < warmup:
            return peak * (_START + (1 - _START) * steps / warmup)
        return peak * _DROP ** sum(epoch >= drop for drop in self.drops)

    def steps_of_warmup(self, global_batch: int) -> int:
        """Return the steps in which the rate rises, for this many images a step."""
        if self.warmup_steps is not None:
            return self.warmup_steps
        return _WARMUP_STEPS if global_batch <= _LARGE_BATCH else _LARGE_WARMUP_STEPS

    def check(self, *, training_images: int, global_batch: int) -> None:
        """Reject a warm-up that is not over when the rate falls.

        Raises:
            UserError: It is as long.
        """
        warmup, steps = self.steps_of_warmup(global_batch), int(self.drops[0] * training_images / global_batch)
        if warmup > steps:
            raise UserError(
                f"'--warmup-steps' is {warmup:,}, but the learning rate falls after {steps:,} steps of {global_batch} "
                f"images; give {steps:,} or fewer, or more '--epochs'"
            )

    def sentence(self, global_batch: int) -> str:
        """Show the arithmetic so that a person can check it."""
        peak = self.learning_rate * global_batch / IMAGES
        first, second = self.drops
        clipped = f", gradients no longer than {self.clip_norm:g}" if self.clip_norm is not None else ""
        return (
            f"learning rate ({self.name}): {self.learning_rate:g} x {global_batch} / {IMAGES} = {peak:g}, reached over "
            f"{self.steps_of_warmup(global_batch)} steps, a tenth after epoch {first:g}, a hundredth after {second:g}; "
            f"momentum {MOMENTUM:g}, weight decay {self.weight_decay:g}{clipped}"
        )

    def decay(self, gradient: tf.Tensor, weight: tf.Variable) -> tf.Tensor:
        """Add the gradient of the L2 term: of kernels, not of biases nor of batch normalization."""
        return gradient if len(weight.shape) == 1 else gradient + self.weight_decay * weight


def reference(*, epochs: int) -> Recipe:
    """Return the recipe with one image on each GPU.

    Targets, box and mask AP of COCO 2017's validation images (published):

    - 38.9 and 35.4 after 24 epochs on 8 V100, 24 hours; 38.2 and 34.8 after 12, 12.5 hours (tensorpack,
      examples/FasterRCNN, R50-FPN, with these values).
    - 37.7 and 33.9 after 13 to 17 epochs with 8 to 256 images a step, the rate about linear in them (MLPerf's reference
      runs).
    """
    return Recipe(name="reference", batch_size=1, learning_rate=0.01, clip_norm=None, epochs=epochs)


def throughput(*, epochs: int) -> Recipe:
    """Return the recipe with four images on each GPU: larger steps, whose gradients are clipped.

    Targets, box and mask AP of COCO 2017's validation images after 24 epochs (published by
    aws-samples/mask-rcnn-tensorflow, whose rate and limit these are; without the limit about one run of 20 diverged):

    - 38.25 and 35.08 on 8 V100 with 4 images each, 9.78 hours
    - 38.44 and 35.18 on 16, 5.60 hours
    - 38.33 and 35.12 on 32, 3.33 hours
    """
    return Recipe(name="throughput", batch_size=4, learning_rate=0.0125, clip_norm=1.5, epochs=epochs)


#: The recipes by name.
RECIPES: dict[str, Callable[..., Recipe]] = {"reference": reference, "throughput": throughput}
