"""The optimizer and its schedule: NVIDIA's recipe with SGD, and MLPerf's with LARS.

Rates are given for 256 images of the global batch, so that a run can resume with another number of ranks and each image
keeps its weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from training.runtime.errors import UserError
from training.runtime.schedule import RateCurve, Schedule, cosine, square

#: Images for which a learning rate is given, as in https://arxiv.org/abs/1706.02677.
IMAGES = 256

# "No loss of accuracy when training with large minibatch sizes up to 8192 images": https://arxiv.org/abs/1706.02677.
_LARGEST_OF_SGD = 8_192

#: The options with MLPerf's values, in the words of an error.
LARS_VALUES = "'--learning-rate', '--warmup-epochs', '--weight-decay' and '--momentum'"

# Global batch: (peak learning rate, epochs of warm-up, weight decay, momentum, epochs to 75.9 % of the slowest run) of
# MLPerf's reference runs:
# https://github.com/mlcommons/logging/blob/master/mlperf_logging/rcp_checker/training_2.0.0/rcps_resnet.json
_PUBLISHED_LARS = {
    1_632: (7.4, 2, 5e-5, 0.9, 37),
    3_264: (10.5, 2, 5e-5, 0.9, 37),
    4_096: (10.0, 5, 2e-4, 0.9, 42),
    8_192: (17.0, 5, 2e-4, 0.9, 44),
    13_056: (12.8, 9, 2.5e-5, 0.9, 46),
    32_768: (21.2, 16, 2.5e-5, 0.94, 57),
    35_840: (21.9, 17, 2.5e-5, 0.94, 60),
    49_152: (19.405, 24, 1e-4, 0.951807, 69),
    58_880: (23.246, 29, 1e-4, 0.951807, 81),
    65_536: (24.699, 31, 1e-4, 0.951807, 86),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The optimizer and its schedule.

    Attributes:
        optimizer: `sgd` or `lars`.
        learning_rate: At its peak, for 256 images of the global batch.
        weight_decay: Factor of the L2 term's gradient.
        momentum: Part of the step before that each step repeats.
        schedule: A warm-up from 0; then a cosine, as NVIDIA trains to 77 %, or for LARS MLPerf's polynomial.
    """

    optimizer: str
    learning_rate: float
    weight_decay: float
    momentum: float
    schedule: Schedule

    def rate(self, epoch: float, global_batch: int) -> float:
        """Return the learning rate after this number of epochs, which may be a fraction.

        Args:
            epoch: Epochs since the run began.
            global_batch: Images per step over all ranks.
        """
        return self.schedule.rate(epoch, peak=self.learning_rate * global_batch / IMAGES)

    def sentences(self, global_batch: int, ranks: int, *, has_lars: bool = True) -> list[str]:
        """Return the sentence and the warnings; the arguments are those of `warnings`."""
        return [self.sentence(global_batch), *self.warnings(global_batch, ranks, has_lars=has_lars)]

    def sentence(self, global_batch: int) -> str:
        """Show the arithmetic so that a person can check it."""
        peak = self.learning_rate * global_batch / IMAGES
        return (
            f"learning rate: {self.learning_rate:g} x {global_batch} / {IMAGES} = {peak:g}, {self.schedule.sentence()}"
            f"; {self.optimizer}, momentum {self.momentum:g}, weight decay {self.weight_decay:g}"
        )

    def warnings(self, global_batch: int, ranks: int, *, has_lars: bool = True) -> list[str]:
        """Return a sentence for each property of the batch that costs accuracy or time, with a better value.

        Args:
            global_batch: Images per step over all ranks.
            ranks: Ranks of the run.
            has_lars: Whether the program has LARS.
        """
        if self.optimizer == "lars":
            return self._longer_than_published(global_batch)
        if global_batch <= _LARGEST_OF_SGD:
            return []
        ways = []
        if ranks <= _LARGEST_OF_SGD:
            own = _LARGEST_OF_SGD // ranks
            ways.append(f"'--batch-size {own}' ({own * ranks:,} images a step)")
        of_lars = [batch for batch in _PUBLISHED_LARS if batch % ranks == 0 and batch <= global_batch]
        if has_lars and of_lars:
            largest = max(of_lars)
            ways.append(
                f"'--optimizer lars --batch-size {largest // ranks}' ({largest:,} images a step, for which MLPerf "
                "publishes values)"
            )
        return [
            f"warning: {global_batch:,} images a step are more than the {_LARGEST_OF_SGD:,} up to which sgd keeps its "
            f"accuracy (arXiv:1706.02677); give {' or '.join(ways) or 'fewer ranks'}"
        ]

    def _longer_than_published(self, global_batch: int) -> list[str]:
        given = self.schedule.epochs
        if global_batch not in _PUBLISHED_LARS or given <= (most := _PUBLISHED_LARS[global_batch][-1]):
            return []
        return [
            f"warning: '--epochs' is {given}, but MLPerf's runs with {global_batch:,} images a step reached 75.9 % in "
            f"{most} epochs or fewer; give '--epochs {most}' for their length"
        ]


class Given(TypedDict):
    """The values of a recipe that the command line may give; None takes the published value."""

    learning_rate: float | None
    warmup_epochs: int | None
    weight_decay: float | None
    momentum: float | None


def sgd(*, epochs: int, **given: Unpack[Given]) -> Recipe:
    """Return NVIDIA's recipe, which reaches 76.9 to 77.0 % in 90 epochs.

    https://github.com/NVIDIA/DeepLearningExamples/tree/master/TensorFlow/Classification/ConvNets/resnet50v1.5
    """
    return _recipe("sgd", cosine, epochs, given, (0.256, 5, 1 / 32768, 0.875))


def lars(*, epochs: int, global_batch: int, **given: Unpack[Given]) -> Recipe:
    """Return LARS, for global batches with which SGD loses accuracy: about 8,192 images and more.

    Args:
        epochs: Passes over the training images.
        global_batch: Images per step over all ranks.
        given: The values for 256 images; None takes the one that is published for this global batch.

    Raises:
        UserError: A value is missing, and none is published for this global batch.
    """
    published = _PUBLISHED_LARS.get(global_batch)
    if published is None and None in given.values():
        batches = ", ".join(f"{batch:,}" for batch in _PUBLISHED_LARS)
        raise UserError(
            f"'--optimizer' is lars with {global_batch:,} images a step, for which no values are published; give "
            f"{LARS_VALUES}, or a batch of {batches} images over all ranks"
        )
    peak, *others, _ = published or (0.0, 0, 0.0, 0.0, 0)
    return _recipe("lars", square, epochs, given, (peak * IMAGES / global_batch, *others))


def _recipe(optimizer: str, decay: RateCurve, epochs: int, given: Given, published: Sequence[float]) -> Recipe:
    """Return a recipe whose values are as given, or else as published."""
    values: dict[str, Any] = dict(zip(Given.__annotations__, published, strict=True))
    values |= {name: value for name, value in given.items() if value is not None}
    schedule = Schedule(epochs=epochs, warmup_epochs=values.pop("warmup_epochs"), decay=decay)
    return Recipe(optimizer=optimizer, schedule=schedule, **values)
