"""The arithmetic of a run: how many images a step, how many steps, which learning rate."""

import math
from dataclasses import dataclass

from training.runtime.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What the options come to with this many images and ranks."""

    images: int
    """Training images."""
    world_size: int
    """Ranks."""
    batch_size: int
    """Images a step and rank."""
    epochs: int
    """Passes over the training images."""
    learning_rate: float
    """Of one rank; it is multiplied by the number of ranks."""
    warmup_epochs: int
    """Epochs in which the rate rises from one rank's to that of all."""

    def __post_init__(self) -> None:
        """Refuses what cannot be trained."""
        if self.warmup_epochs >= self.epochs:
            raise UserError(
                f"'--warmup-epochs' is {self.warmup_epochs} but '--epochs' is {self.epochs}; "
                f"give {self.epochs - 1} or fewer epochs of warm-up, or more epochs"
            )
        smallest_shard = self.images // self.world_size
        if self.batch_size > smallest_shard:
            raise UserError(
                f"'--batch-size' is {self.batch_size} but with {self.world_size} ranks each has {smallest_shard} "
                f"of the {self.images} training images; give {smallest_shard} or less"
            )

    @property
    def global_batch_size(self) -> int:
        """Images a step over all ranks."""
        return self.batch_size * self.world_size

    @property
    def steps_per_epoch(self) -> int:
        """Steps an epoch, the last one with what is left over."""
        return -(-self.images // self.global_batch_size)

    @property
    def peak_learning_rate(self) -> float:
        """The learning rate at the end of the warm-up."""
        return self.learning_rate * self.world_size

    def rate(self, epoch: float) -> float:
        """Returns the learning rate after so many epochs, which need not be whole.

        The rise keeps large batches from diverging in the first epochs: https://arxiv.org/abs/1706.02677, section 2.2.
        Counted in epochs and not in steps, so that a run may go on with another number of ranks.
        """
        if epoch < self.warmup_epochs:
            return self.learning_rate + (self.peak_learning_rate - self.learning_rate) * epoch / self.warmup_epochs
        progress = (epoch - self.warmup_epochs) / (self.epochs - self.warmup_epochs)
        return self.peak_learning_rate * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))

    def sentences(self) -> list[str]:
        """Says the arithmetic so that a person can check it."""
        batch, steps, base, peak = (
            self.global_batch_size,
            self.steps_per_epoch,
            self.learning_rate,
            self.peak_learning_rate,
        )
        rise = f"reached from {base:g} over {self.warmup_epochs} epochs" if self.warmup_epochs else "without warm-up"
        return [
            f"batch: {self.batch_size} images per rank x {self.world_size} ranks = {batch} images per step",
            f"steps: {self.images} training images / {batch}, rounded up, = {steps} per epoch; "
            f"x {self.epochs} epochs = {steps * self.epochs}",
            f"learning rate: {base:g} per rank x {self.world_size} ranks = {peak:g}, {rise}, "
            f"then along a cosine to 0 at epoch {self.epochs}",
        ]
