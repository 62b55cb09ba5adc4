"""The images of a run: for each rank its part, in its order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd

from training.imagenet import decoded_images, input_pipeline
from training.imagenet.imagenet_splits import TOTALS
from training.imagenet.input_pipeline import Batch, InputPipeline, SyntheticPipeline
from training.records import cache, fingerprint, rank_records
from training.records.data_threads import data_threads
from training.records.numbered_records import Records
from training.records.shard_files import TRAIN, VALIDATION
from training.resnet50.settings import Settings
from training.runtime.distributed import on_every_rank, say
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
        batch_size: Images per rank and step.
        seed: Of the order.
        damage: Skipped shards and parts of shards, a sentence each.
        damaged: The known number of records in them.
        fingerprint: Of the files.
        memory: What stays in memory, a sentence each.
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
    memory: Sequence[str] = ()

    def training_batches(self, position: Position) -> Iterator[Batch]:
        """Yield the rest of the epoch, the same number of batches on every rank."""
        order, first_step = rank_records.training_order(
            self.training_images,
            position.segments,
            batch_size=self.batch_size,
            seed=self.seed,
            epoch=position.epoch,
        )
        return rank_records.alone(self.training.training(order, position.epoch, first_step))

    def validation_batches(self) -> Iterator[Batch]:
        """Yield this rank's part of the validation images, each once."""
        order = rank_records.evaluation_order(self.validation_images, batch_size=self.batch_size)
        return rank_records.alone(self.validation.evaluation(order))

    def skipped(self) -> dict[str, list[int]]:
        """Return the numbers of the records of each split that any rank has skipped; every rank must call it."""
        own = {"train": self.training.skipped_records, "validation": self.validation.skipped_records}
        return rank_records.skipped_by_any(own)

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
        return [counted, *(f"warning: skipped: {each}" for each in self.damage), *self.memory]


def load(settings: Settings, *, on_gpu: bool) -> Data:
    """Find the images; every rank must call it.

    Raises:
        UserError: They are missing or damaged; on every rank.
    """
    decoding = input_pipeline.Settings(
        image_size=settings.image_size,
        classes=settings.classes,
        seed=settings.seed,
        min_crop_area=settings.min_crop_area,
        mirror=settings.mirror == "on",
        threads=data_threads(hvd.local_size()),
        device="/GPU:0" if on_gpu else None,
        skip_damaged=settings.on_bad_data == "skip",
        dali=settings.decode == "gpu",
    )
    if decoding.dali and not on_gpu:
        raise UserError("'--decode' is gpu, but this machine has no GPU that TensorFlow can use; give '--decode cpu'")
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


def _from_files(folder: Path, settings: Settings, decoding: input_pipeline.Settings) -> Data:
    skip = decoding.skip_damaged
    opened = rank_records.open_splits(folder, (TRAIN, VALIDATION), classes=settings.classes, skip_damaged=skip)
    files = {**opened[0].fingerprint, **opened[1].fingerprint}
    memory = _memory(opened, settings.cache)
    if settings.cache == "records":
        opened = [cache.CachedRecords(records, rank_records.own_range(records)) for records in opened]
    train, validation = (
        InputPipeline(records, decoding, rank_records.own_range(records) if settings.cache == "decoded" else None)
        for records in opened
    )
    return Data(
        training_images=len(opened[0]),
        validation_images=len(opened[1]),
        training=train,
        validation=validation,
        batch_size=settings.batch_size,
        seed=settings.seed,
        damage=[*opened[0].damage, *opened[1].damage],
        damaged=sum(records.damaged for records in opened),
        fingerprint=files,
        memory=memory,
    )


def _memory(splits: Sequence[Records], kind: str) -> list[str]:
    """Describe what '--cache' keeps in memory.

    Raises:
        UserError: It does not fit into a rank's part of the free memory of a machine; on every rank.
    """
    if kind == "off":
        return []

    def check() -> tuple[cache.Memory, bool]:
        parts = [(records, rank_records.own_range(records)) for records in splits]
        if kind == "records":
            return cache.check(kind, sum(cache.needed(*part) for part in parts), hvd.local_size()), False
        estimates = [decoded_images.estimate(*part) for part in parts]
        memory = cache.check(kind, sum(each.needed for each in estimates), hvd.local_size())
        return memory, any(each.reduced for each in estimates)

    # Horovod: where the memory of one machine is too small, all ranks stop.
    found = on_every_rank(check)
    most = max((memory for memory, _ in found), key=lambda each: each.needed / max(each.free, 1))
    is_reduced = any(reduced for _, reduced in found)
    caveats = [f"warning: '--cache decoded': {decoded_images.CAVEAT}"] if is_reduced else []
    return [most.sentence(kind), *caveats]
