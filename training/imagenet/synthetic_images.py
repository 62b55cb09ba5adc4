"""As many images as ImageNet has, without files: to measure speed without input."""

from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.crops_and_colors import TOTALS
from training.records.pipeline import Pipeline
from training.records.run_data import Data
from training.records.shard_files import TRAIN, VALIDATION


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
