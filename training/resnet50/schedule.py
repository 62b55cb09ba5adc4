"""The learning rate: a linear warm-up, and then down to 0.

Counted in epochs and not in steps, and per 256 images of the global batch: so a run may go on with another number of
ranks, and each image keeps its weight.
"""

import math
from dataclasses import dataclass

from training.runtime.errors import UserError

#: Images for which a learning rate is given; https://arxiv.org/abs/1706.02677 counts so.
IMAGES = 256

#: By optimizer: of NVIDIA's recipe, and of MLPerf's reference runs with LARS.
MOMENTUM = {"sgd": 0.875, "lars": 0.9}

# Global batch: (peak learning rate, epochs of warm-up, weight decay) of MLPerf's reference runs to 75.9 % top-1:
# https://github.com/mlcommons/logging/blob/master/mlperf_logging/rcp_checker/training_2.0.0/rcps_resnet.json
_PUBLISHED_LARS = {
    1_632: (7.4, 2, 5e-5),
    3_264: (10.5, 2, 5e-5),
    4_096: (10.0, 5, 2e-4),
    8_192: (17.0, 5, 2e-4),
    13_056: (12.8, 9, 2.5e-5),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The optimizer and its schedule.

    Attributes:
        optimizer: `sgd` or `lars`.
        learning_rate: At its peak, for 256 images of the global batch.
        warmup_epochs: Epochs in which it rises from 0.
        weight_decay: Factor of the L2 term's gradient.
        epochs: Passes over the training images.
    """

    optimizer: str
    learning_rate: float
    warmup_epochs: int
    weight_decay: float
    epochs: int

    def __post_init__(self) -> None:
        """Refuses a warm-up without an end."""
        if self.warmup_epochs >= self.epochs:
            raise UserError(
                f"'--warmup-epochs' is {self.warmup_epochs} but '--epochs' is {self.epochs}; "
                f"give {self.epochs - 1} or fewer epochs of warm-up, or more epochs"
            )

    def rate(self, epoch: float, global_batch: int) -> float:
        """Returns the learning rate after so many epochs, which need not be whole, with so many images a step."""
        peak = self.learning_rate * global_batch / IMAGES
        if epoch < self.warmup_epochs:
            return peak * epoch / self.warmup_epochs
        left = 1 - min(1.0, (epoch - self.warmup_epochs) / (self.epochs - self.warmup_epochs))
        # LARS: a polynomial of power 2, as in MLPerf's reference. SGD: a cosine, as NVIDIA trains to 77 %.
        return peak * (left**2 if self.optimizer == "lars" else 0.5 * (1 - math.cos(math.pi * left)))

    def sentence(self, global_batch: int) -> str:
        """Says the arithmetic so that a person can check it."""
        peak = self.learning_rate * global_batch / IMAGES
        down = "a polynomial of power 2" if self.optimizer == "lars" else "a cosine"
        rise = f"reached from 0 over {self.warmup_epochs} epochs" if self.warmup_epochs else "without warm-up"
        return (
            f"learning rate: {self.learning_rate:g} x {global_batch} / {IMAGES} = {peak:g}, {rise}, "
            f"then along {down} to 0 at epoch {self.epochs}; {self.optimizer}, weight decay {self.weight_decay:g}"
        )


def sgd(*, learning_rate: float | None, warmup_epochs: int | None, weight_decay: float | None, epochs: int) -> Recipe:
    """NVIDIA's recipe, which reaches 76.9 to 77.0 % in 90 epochs; None takes its value.

    https://github.com/NVIDIA/DeepLearningExamples/tree/master/TensorFlow/Classification/ConvNets/resnet50v1.5
    """
    return Recipe(
        optimizer="sgd",
        learning_rate=0.256 if learning_rate is None else learning_rate,
        warmup_epochs=5 if warmup_epochs is None else warmup_epochs,
        weight_decay=1 / 32768 if weight_decay is None else weight_decay,
        epochs=epochs,
    )


def lars(
    *,
    learning_rate: float | None,
    warmup_epochs: int | None,
    weight_decay: float | None,
    epochs: int,
    global_batch: int,
) -> Recipe:
    """LARS, for global batches with which SGD loses accuracy: about 8,192 images and more.

    Args:
        learning_rate: For 256 images; None takes the published one of this global batch.
        warmup_epochs: None takes the published one.
        weight_decay: None takes the published one.
        epochs: Passes over the training images.
        global_batch: Images a step over all ranks.

    Raises:
        UserError: Something was left out, and nothing is published for this global batch.
    """
    published = _PUBLISHED_LARS.get(global_batch)
    if published is None and None in (learning_rate, warmup_epochs, weight_decay):
        batches = ", ".join(f"{batch:,}" for batch in _PUBLISHED_LARS)
        raise UserError(
            f"'--optimizer' is lars with {global_batch:,} images a step, for which no values are published; give "
            f"'--learning-rate', '--warmup-epochs' and '--weight-decay', or a batch of {batches} images over all ranks"
        )
    peak, warmup, decay = published or (0.0, 0, 0.0)
    return Recipe(
        optimizer="lars",
        learning_rate=peak * IMAGES / global_batch if learning_rate is None else learning_rate,
        warmup_epochs=warmup if warmup_epochs is None else warmup_epochs,
        weight_decay=decay if weight_decay is None else weight_decay,
        epochs=epochs,
    )
