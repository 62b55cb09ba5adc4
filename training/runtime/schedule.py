"""The arithmetic of a run that a person can check: images per step, and the learning rate of each epoch."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .errors import UserError

#: Part of the peak learning rate, from the part of the decay that is left: 1 to 1, and 0 to 0.
RateCurve = Callable[[float], float]


def cosine(left: float) -> float:
    """Return half a cosine wave: https://arxiv.org/abs/1608.03983."""
    return 0.5 * (1 - math.cos(math.pi * left))


def square(left: float) -> float:
    """Return a polynomial of power 2, with which MLPerf trains LARS."""
    return left**2


_NAMES: dict[RateCurve, str] = {cosine: "a cosine", square: "a polynomial of power 2"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """A linear warm-up, and a decay to 0.

    Counted in epochs and not in steps, so that a run can resume with another number of ranks. The warm-up keeps large
    batches from diverging in the first epochs: https://arxiv.org/abs/1706.02677, section 2.2.
    """

    epochs: int
    """Passes over the training images."""
    warmup_epochs: int
    """Epochs in which the rate rises to its peak."""
    decay: RateCurve = cosine
    """The curve after the warm-up."""

    def __post_init__(self) -> None:
        """Reject a warm-up that is as long as the run."""
        if self.warmup_epochs >= self.epochs:
            raise UserError(
                f"'--warmup-epochs' is {self.warmup_epochs}, given or by default, but '--epochs' is {self.epochs}; "
                f"give '--warmup-epochs {self.epochs - 1}' or fewer, or more epochs"
            )

    def rate(self, epoch: float, *, peak: float, start: float = 0.0) -> float:
        """Return the learning rate after this number of epochs, which may be a fraction.

        Args:
            epoch: Epochs since the run began.
            peak: The rate at the end of the warm-up.
            start: The rate at the beginning of the warm-up.
        """
        if epoch < self.warmup_epochs:
            return start + (peak - start) * epoch / self.warmup_epochs
        return peak * self.decay(1 - min(1.0, (epoch - self.warmup_epochs) / (self.epochs - self.warmup_epochs)))

    def sentence(self, *, start: float = 0.0) -> str:
        """Describe the curve."""
        rise = f"reached from {start:g} over {self.warmup_epochs} epochs" if self.warmup_epochs else "without warm-up"
        return f"{rise}, then along {_NAMES[self.decay]} to 0 at epoch {self.epochs}"


def batch_sentence(batch_size: int, ranks: int) -> str:
    """Describe the global batch."""
    return f"batch: {batch_size} images per rank x {ranks} ranks = {batch_size * ranks} images per step"


def check_batch_size(batch_size: int, *, images: int, ranks: int) -> None:
    """Reject a batch that is larger than a rank's part of the training images."""
    smallest = images // ranks
    if batch_size > smallest:
        raise UserError(
            f"'--batch-size' is {batch_size} but with {ranks} ranks each has {smallest:,} of the {images:,} training "
            f"images; give {smallest} or less"
        )
