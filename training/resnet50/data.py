"""The images of a run, in the order and the share that each rank sees."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd

from training.imagenet import input_pipeline
from training.imagenet.input_pipeline import Batch, InputPipeline, Settings, SyntheticPipeline
from training.records import cache, dataset, epoch_order
from training.records.numbered_records import Records, Team
from training.records.shard_files import TOTALS, TRAIN, VALIDATION
from training.resnet50.position import Position
from training.runtime.distributed import on_every_rank, on_first_rank
from training.runtime.errors import RankError, UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Data:
    """Images to train on and to test with.

    Attributes:
        training_images: Of the whole split, over all ranks.
        validation_images: Likewise.
        training: What decodes the former.
        validation: What decodes the latter.
        batch_size: Images a step and rank.
        seed: Of the order.
        missing: What is not there of the data, a sentence each.
        lost: Records that are missing, as far as is known.
    """

    training_images: int
    validation_images: int
    training: InputPipeline | SyntheticPipeline
    validation: InputPipeline | SyntheticPipeline
    batch_size: int
    seed: int
    missing: Sequence[str] = ()
    lost: int = 0

    def training_batches(self, position: Position) -> Iterator[Batch]:
        """Yields what is left of the epoch, as many batches on every rank."""
        size, batch = hvd.size(), self.batch_size
        over, first_step = epoch_order.resume(position.segments, size, batch)
        order = epoch_order.training(
            self.training_images,
            over,
            batch_size=batch,
            rank=hvd.rank(),
            size=size,
            seed=self.seed,
            epoch=position.epoch,
        )
        return _alone(self.training.training(order, position.epoch, first_step))

    def validation_batches(self) -> Iterator[Batch]:
        """Yields this rank's share of the validation images, each once."""
        share = {"batch_size": self.batch_size, "rank": hvd.rank(), "size": hvd.size()}
        return _alone(self.validation.evaluation(epoch_order.evaluation(self.validation_images, **share)))

    def skipped(self) -> dict[str, list[int]]:
        """Numbers of the records of each split that all ranks together have left out; every rank asks."""
        own = {"train": self.training.skipped_records, "validation": self.validation.skipped_records}
        of_ranks = hvd.allgather_object(own, name="skipped")
        return {split: sorted(set().union(*(each[split] for each in of_ranks))) for split in own}

    def go_on(self, output: Path, written: Mapping[str, Any]) -> None:
        """Remembers what a run that goes on had left out: neither to count nor to tell of it twice.

        Raises:
            UserError: It began with other images, so that the numbers of its records are no longer theirs.
        """
        if written["training_images"] != self.training_images:
            raise UserError(
                f"there are {self.training_images:,} training images, but the run in {output} began with "
                f"{written['training_images']:,}; put back those, or give another '--output-dir'"
            )
        self.training.skipped_records |= set(written["skipped"]["train"])
        self.validation.skipped_records |= set(written["skipped"]["validation"])

    def sentences(self) -> list[str]:
        """Says how many images there are, and what is missing."""
        counted = f"data: {self.training_images:,} images to train on, {self.validation_images:,} to test with"
        return [counted, *(f"warning: left out: {fault}" for fault in self.missing)]


def load(given: argparse.Namespace, *, on_gpu: bool) -> Data:
    """Finds the images; every rank calls it.

    Raises:
        UserError: They are not there, or not what they should be; on every rank.
    """
    settings = Settings(
        image_size=given.image_size,
        classes=given.classes,
        seed=given.seed,
        min_crop_area=given.min_crop_area,
        mirror=given.mirror == "on",
        threads=input_pipeline.data_threads(hvd.local_size()),
        device="/GPU:0" if on_gpu else None,
        skip_damaged=given.on_bad_data == "skip",
    )
    if given.synthetic:
        pipeline = SyntheticPipeline(settings)
        data = Data(
            training_images=TOTALS[TRAIN],
            validation_images=TOTALS[VALIDATION],
            training=pipeline,
            validation=pipeline,
            batch_size=given.batch_size,
            seed=given.seed,
        )
    else:
        data = _from_files(given, settings)
    smallest = data.training_images // hvd.size()
    if given.batch_size > smallest:
        raise UserError(
            f"'--batch-size' is {given.batch_size} but with {hvd.size()} ranks each has {smallest:,} of the "
            f"{data.training_images:,} training images; give {smallest} or less"
        )
    return data


def _from_files(given: argparse.Namespace, settings: Settings) -> Data:
    team = Team(rank=hvd.rank(), size=hvd.size(), gather=hvd.allgather_object, first=on_first_rank)
    splits: list[Records] = [
        dataset.open_split(given.data_dir, split, classes=given.classes, team=team, skip_damaged=settings.skip_damaged)
        for split in (TRAIN, VALIDATION)
    ]
    if given.cache:
        splits = _cached(splits)
    train, validation = splits
    return Data(
        training_images=len(train),
        validation_images=len(validation),
        training=InputPipeline(train, settings),
        validation=InputPipeline(validation, settings),
        batch_size=given.batch_size,
        seed=given.seed,
        missing=[*train.damage, *validation.damage],
        lost=train.damaged + validation.damaged,
    )


def _cached(splits: Sequence[Records]) -> list[Records]:
    kept = [(records, epoch_order.own_range(len(records), hvd.rank(), hvd.size())) for records in splits]
    caches: list[Records] = []
    # Horovod: where the memory of one machine does not do, all ranks stop.
    on_every_rank(lambda: caches.extend(cache.cached(kept, hvd.local_size())))
    return caches


def _alone(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Marks a mistake as one that the other ranks do not know of."""
    try:
        yield from batches
    except UserError as error:
        raise RankError(str(error)) from error
