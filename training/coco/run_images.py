"""The images of a run: for each rank its part, in its order, with the same padded shape on all ranks in a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.coco import categories as coco_categories
from training.coco import coco_records
from training.coco.batches import BatchPipeline, Settings
from training.coco.categories import Category
from training.records import bucket_order, epoch_order, rank_records, run_data
from training.records.bucket_order import BucketOrder
from training.records.shard_files import TRAIN, VALIDATION
from training.runtime import ranks
from training.runtime.distributed import on_rank_zero
from training.runtime.errors import UserError
from training.runtime.position import Position


@dataclass(frozen=True, kw_only=True)
class Data(run_data.Data):
    """Training images and validation images, in buckets of one padded shape; see `run_data.Data`.

    Attributes:
        categories: Categories of the objects.
    """

    training: BatchPipeline
    validation: BatchPipeline
    categories: Sequence[Category]

    # A bucket drops the images that fill no step.
    step_limit = " at most"

    def __post_init__(self) -> None:
        """Reject a batch that is larger than a rank's part, of all images or of a bucket."""
        super().__post_init__()
        bucket_order.check_buckets(self.training.buckets, batch_size=self.batch_size, size=ranks.size())

    def training_order(self, position: Position) -> tuple[BucketOrder, int]:
        """Return this rank's order of the rest of an epoch, and the first step that is not done."""
        finished, first_step = epoch_order.resume(position.segments, ranks.size(), self.batch_size)
        order = bucket_order.training(
            self.training.buckets,
            finished,
            batch_size=self.batch_size,
            rank=ranks.rank(),
            size=ranks.size(),
            seed=self.seed,
            epoch=position.epoch,
        )
        return order, first_step

    def evaluation_order(self) -> BucketOrder:
        """Return this rank's part of the validation images, in as many batches as every rank."""
        return bucket_order.evaluation(
            self.validation.buckets, batch_size=self.batch_size, rank=ranks.rank(), size=ranks.size()
        )

    def sentences(self) -> list[str]:
        """Describe how many images there are, how many are skipped, and the shapes of the batches."""
        counted, *skipped = super().sentences()
        shapes, buckets = self.training.shapes, self.training.buckets.tolist()
        padded = ", ".join(
            f"{height} x {width} ({buckets.count(bucket):,})" for bucket, (height, width) in enumerate(shapes)
        )
        return [
            f"{counted}, {len(self.categories)} categories",
            f"shapes of the batches, height x width, with the training images of each: {padded}",
            *skipped,
        ]


def load(folder: Path, settings: Settings, *, batch_size: int) -> Data:
    """Find the images; every rank must call it.

    Args:
        folder: Given as '--data-dir'.
        settings: Settings of the batches.
        batch_size: Images per rank and step.

    Raises:
        UserError: They are missing or damaged, or too few for a step; on every rank.
    """
    team = rank_records.team()
    opened = [
        coco_records.load(folder, split, team=team, skip_damaged=settings.skip_damaged) for split in (TRAIN, VALIDATION)
    ]
    categories: list[Category] = on_rank_zero(lambda: coco_categories.read(folder))
    if len(categories) != settings.classes:
        raise UserError(
            f"'--data-dir' is {folder}, which has {len(categories)} categories, but the network finds "
            f"{settings.classes}; give the data set of the network"
        )
    return Data.of_records(
        opened,
        [BatchPipeline(records, settings) for records in opened],
        categories=categories,
        batch_size=batch_size,
        seed=settings.seed,
    )
