"""The settings of a pipeline that decodes ImageNet's images, whatever computes, and the pipeline without files."""

from dataclasses import dataclass
from typing import Any, Self

from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.crops_and_colors import TOTALS
from training.records.run_data import Data, Pipeline
from training.records.shard_files import TRAIN, VALIDATION


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineSettings:
    """The settings that all epochs share."""

    image_size: int
    """Height and width, pixels."""
    classes: int
    """The largest label of a record; the smallest is 1."""
    min_crop_area: float
    """The smallest crop of a training image, as a part of its area."""
    seed: int = 0
    """Seed of crops and flips."""
    mirror: bool = True
    """Whether half of the training images are mirrored."""
    skip_damaged: bool = False
    """Whether another record replaces a damaged one. Default: a damaged record ends the run."""

    @classmethod
    def of_run(cls, settings: ClassifierSettings, **others: Any) -> Self:
        """Return the settings of a run's pipelines.

        Args:
            settings: The command line.
            others: Values of a subclass.
        """
        return cls(
            image_size=settings.image_size,
            classes=settings.classes,
            min_crop_area=settings.min_crop_area,
            seed=settings.seed,
            mirror=settings.mirror == "on",
            skip_damaged=settings.skip_damaged,
            **others,
        )


def synthetic(pipeline: Pipeline, settings: ClassifierSettings) -> Data:
    """Return as many images as ImageNet has, which a pipeline makes without files."""
    return Data(
        training_images=TOTALS[TRAIN],
        validation_images=TOTALS[VALIDATION],
        training=pipeline,
        validation=pipeline,
        batch_size=settings.batch_size,
        seed=settings.seed,
    )
