"""The images of a run: for each rank its part, in its order, with the same padded shape on all ranks in a step."""

from pathlib import Path

from training.coco import categories as coco_categories
from training.coco import coco_records
from training.coco.batches import BatchPipeline, Settings
from training.coco.categories import Category
from training.records.run_data import Data
from training.records.shard_files import TRAIN, VALIDATION
from training.runtime.distributed import on_rank_zero
from training.runtime.errors import UserError


def load(folder: Path, settings: Settings, *, batch_size: int) -> Data:
    """Find the images; every rank must call it.

    Args:
        folder: Given as '--data-dir'.
        settings: Settings of the batches.
        batch_size: Images per rank and step.

    Raises:
        UserError: They are missing or damaged, or too few for a step; on every rank.
    """
    opened = [coco_records.load(folder, split, skip_damaged=settings.skip_damaged) for split in (TRAIN, VALIDATION)]
    categories: list[Category] = on_rank_zero(lambda: coco_categories.read(folder))
    if len(categories) != settings.classes:
        raise UserError(
            f"'--data-dir' is {folder}, which has {len(categories)} categories, but the network finds "
            f"{settings.classes}; give the data set of the network"
        )
    pipelines = [BatchPipeline(records, settings) for records in opened]
    train, validation = pipelines
    buckets = train.buckets.tolist()
    padded = ", ".join(
        f"{height} x {width} ({buckets.count(bucket):,})" for bucket, (height, width) in enumerate(train.shapes)
    )
    return Data.of_records(
        opened,
        pipelines,
        categories=categories,
        batch_size=batch_size,
        seed=settings.seed,
        notes=[f"shapes of the batches, height x width, with the training images of each: {padded}"],
        training_buckets=train.buckets,
        validation_buckets=validation.buckets,
    )
