"""The images of a run: for each rank its part, in its order, with the same padded shape on all ranks in a step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.coco import categories as coco_categories
from training.coco import coco_records
from training.coco.batches import Batch, BatchPipeline, Settings
from training.coco.categories import Category
from training.records import bucket_order, epoch_order, fingerprint, rank_records
from training.records.bucket_order import check_buckets
from training.records.shard_files import TRAIN, VALIDATION
from training.runtime import ranks
from training.runtime.distributed import on_rank_zero
from training.runtime.errors import UserError
from training.runtime.position import Position
from training.runtime.schedule import check_batch_size


@dataclass(frozen=True, kw_only=True, slots=True)
class Data:
    """Training images and validation images.

    Attributes:
        training_images: Of the whole split, over all ranks.
        validation_images: Of the whole split, over all ranks.
        training: Pipeline of the training images.
        validation: Pipeline of the validation images.
        categories: Of the objects.
        batch_size: Images per rank and step.
        seed: Of the order.
        damage: Skipped shards and parts of shards, a sentence each.
        damaged: The known number of records in them.
        fingerprint: Of the files.
    """

    training_images: int
    validation_images: int
    training: BatchPipeline
    validation: BatchPipeline
    categories: Sequence[Category]
    batch_size: int
    seed: int
    damage: Sequence[str] = ()
    damaged: int = 0
    fingerprint: Mapping[str, str] = field(default_factory=dict)

    def training_batches(self, position: Position) -> Iterator[Batch]:
        """Yield the rest of the epoch: the same number of batches, and the same padded shapes, on every rank."""
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
        return rank_records.alone(self.training.training(order, position.epoch, first_step))

    def validation_batches(self) -> Iterator[Batch]:
        """Yield this rank's part of the validation images, each once, in as many batches as every rank."""
        order = bucket_order.evaluation(
            self.validation.buckets, batch_size=self.batch_size, rank=ranks.rank(), size=ranks.size()
        )
        return rank_records.alone(self.validation.evaluation(order))

    def skipped(self) -> dict[str, list[int]]:
        """Return the numbers of the records of each split that any rank has skipped; every rank must call it."""
        own = {TRAIN: self.training.skipped_records, VALIDATION: self.validation.skipped_records}
        return rank_records.skipped_by_any(own)

    def resume(self, output: Path, written: Mapping[str, Any]) -> None:
        """Take over the skipped records of the checkpoint's metadata, so that none is counted or reported twice.

        Raises:
            UserError: The run began with other images, so that its record numbers mean other records now.
        """
        fingerprint.check(output, written["dataset"], self.fingerprint)
        self.training.skipped_records |= set(written["skipped"][TRAIN])
        self.validation.skipped_records |= set(written["skipped"][VALIDATION])

    def sentences(self) -> list[str]:
        """Describe how many images there are, what is skipped, and the shapes of the batches."""
        shapes, buckets = self.training.shapes, self.training.buckets.tolist()
        padded = ", ".join(
            f"{height} x {width} ({buckets.count(bucket):,})" for bucket, (height, width) in enumerate(shapes)
        )
        return [
            f"data: {self.training_images:,} images to train on, {self.validation_images:,} to test with, "
            f"{len(self.categories)} categories",
            f"shapes of the batches, height x width, with the training images of each: {padded}",
            *(f"warning: skipped: {each}" for each in self.damage),
        ]


def load(folder: Path, settings: Settings, *, batch_size: int) -> Data:
    """Find the images; every rank must call it.

    Args:
        folder: Given as '--data-dir'.
        settings: Of the batches.
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
    training, validation = (BatchPipeline(records, settings) for records in opened)
    check_batch_size(batch_size, images=len(opened[0]), ranks=ranks.size())
    check_buckets(training.buckets, batch_size=batch_size, size=ranks.size())
    return Data(
        training_images=len(opened[0]),
        validation_images=len(opened[1]),
        training=training,
        validation=validation,
        categories=categories,
        batch_size=batch_size,
        seed=settings.seed,
        damage=[*opened[0].damage, *opened[1].damage],
        damaged=sum(records.damaged for records in opened),
        fingerprint={**opened[0].fingerprint, **opened[1].fingerprint},
    )
