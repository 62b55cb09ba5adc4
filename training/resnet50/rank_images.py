"""The images of a run: for each rank its part, in its order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd

from training.imagenet import input_pipeline
from training.imagenet.input_pipeline import InputPipeline, SyntheticPipeline
from training.records import cache, dataset, epoch_order, fingerprint, stages
from training.records.numbered_records import Records, Team
from training.records.shard_files import TOTALS, TRAIN, VALIDATION
from training.records.stages import Batch
from training.resnet50.settings import Settings
from training.runtime.distributed import on_every_rank, on_rank_zero, say
from training.runtime.errors import RankError, UserError
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
        batch_size: Images per rank and step.
        seed: Of the order.
        damage: Skipped shards and parts of shards, a sentence each.
        damaged: The known number of records in them.
        fingerprint: Of the files.
    """

    training_images: int
    validation_images: int
    training: InputPipeline | SyntheticPipeline
    validation: InputPipeline | SyntheticPipeline
    batch_size: int
    seed: int
    damage: Sequence[str] = ()
    damaged: int = 0
    fingerprint: Mapping[str, str] = field(default_factory=dict)

    def training_batches(self, position: Position) -> Iterator[Batch]:
        """Yield the rest of the epoch, the same number of batches on every rank."""
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
        """Yield this rank's part of the validation images, each once."""
        share = {"batch_size": self.batch_size, "rank": hvd.rank(), "size": hvd.size()}
        return _alone(self.validation.evaluation(epoch_order.evaluation(self.validation_images, **share)))

    def skipped(self) -> dict[str, list[int]]:
        """Return the numbers of the records of each split that any rank has skipped; every rank must call it."""
        own = {"train": self.training.skipped_records, "validation": self.validation.skipped_records}
        of_ranks = hvd.allgather_object(own, name="skipped")
        return {split: sorted(set().union(*(each[split] for each in of_ranks))) for split in own}

    def resume(self, output: Path, written: Mapping[str, Any]) -> None:
        """Take over the skipped records of the checkpoint's metadata, so that none is counted or reported twice.

        Raises:
            UserError: The run began with other images, so that its record numbers mean other records now.
        """
        if "dataset" in written:
            fingerprint.check(output, written["dataset"], self.fingerprint)
        else:
            say(f"note: the checkpoints in {output} are of a version that did not note the dataset's files")
        if written["training_images"] != self.training_images:
            raise UserError(
                f"there are {self.training_images:,} training images, but the run in {output} began with "
                f"{written['training_images']:,}; put back those, or give another '--output-dir'"
            )
        self.training.skipped_records |= set(written["skipped"]["train"])
        self.validation.skipped_records |= set(written["skipped"]["validation"])

    def sentences(self) -> list[str]:
        """Describe how many images there are, and what is skipped."""
        counted = f"data: {self.training_images:,} images to train on, {self.validation_images:,} to test with"
        return [counted, *(f"warning: skipped: {each}" for each in self.damage)]


def load(settings: Settings, *, on_gpu: bool) -> Data:
    """Find the images; every rank must call it.

    Raises:
        UserError: They are missing or damaged; on every rank.
    """
    decoding = stages.Settings(
        image_size=settings.image_size,
        classes=settings.classes,
        seed=settings.seed,
        min_crop_area=settings.min_crop_area,
        mirror=settings.mirror == "on",
        threads=input_pipeline.data_threads(hvd.local_size()),
        device="/GPU:0" if on_gpu else None,
        skip_damaged=settings.on_bad_data == "skip",
    )
    if settings.data_dir is None:
        pipeline = SyntheticPipeline(decoding)
        data = Data(
            training_images=TOTALS[TRAIN],
            validation_images=TOTALS[VALIDATION],
            training=pipeline,
            validation=pipeline,
            batch_size=settings.batch_size,
            seed=settings.seed,
        )
    else:
        data = _from_files(settings.data_dir, settings, decoding)
    check_batch_size(settings.batch_size, images=data.training_images, ranks=hvd.size())
    return data


def _from_files(folder: Path, settings: Settings, decoding: stages.Settings) -> Data:
    team = Team(rank=hvd.rank(), size=hvd.size(), gather=hvd.allgather_object, on_rank_zero=on_rank_zero)
    skip = decoding.skip_damaged
    splits: list[Records] = [
        dataset.open_split(folder, split, classes=settings.classes, team=team, skip_damaged=skip)
        for split in (TRAIN, VALIDATION)
    ]
    files = {**splits[0].fingerprint, **splits[1].fingerprint}
    if settings.cache:
        splits = _cached(splits)
    train, validation = splits
    return Data(
        training_images=len(train),
        validation_images=len(validation),
        training=InputPipeline(train, decoding),
        validation=InputPipeline(validation, decoding),
        batch_size=settings.batch_size,
        seed=settings.seed,
        damage=[*train.damage, *validation.damage],
        damaged=train.damaged + validation.damaged,
        fingerprint=files,
    )


def _cached(splits: Sequence[Records]) -> list[Records]:
    kept = [(records, epoch_order.own_range(len(records), hvd.rank(), hvd.size())) for records in splits]
    caches: list[Records] = []
    # Horovod: where the memory of one machine is too small, all ranks stop.
    on_every_rank(lambda: caches.extend(cache.cached(kept, hvd.local_size())))
    return caches


def _alone(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Turn a user's error into one of this rank alone: the other ranks do not know of it."""
    try:
        yield from batches
    except UserError as error:
        raise RankError(str(error)) from error
