"""The images of a run, whatever decodes them: for each rank its part, in its order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from ..runtime import ranks
from ..runtime.position import Position
from ..runtime.schedule import check_batch_size
from . import epoch_order, fingerprint, rank_records
from .numbered_records import Records
from .pipeline import Pipeline
from .shard_files import TRAIN, VALIDATION


@dataclass(frozen=True, kw_only=True, slots=True)
class Data:
    """Training images and validation images.

    Attributes:
        training_images: Images of the whole split, over all ranks.
        validation_images: Images of the whole split, over all ranks.
        training: Pipeline of the training images.
        validation: Pipeline of the validation images.
        batch_size: Images per rank and step.
        seed: Seed of the order.
        damage: Skipped shards and parts of shards, a sentence each.
        damaged: The known number of records in them.
        fingerprint: Fingerprint of the files.
        notes: Other sentences about the images, such as the memory that they take.
        categories: Categories of the objects in the images. Default: the images have a class each.
        training_buckets: The bucket of each training image; a step takes images of one. Default: of any.
        validation_buckets: The same of the validation images.
    """

    training_images: int
    validation_images: int
    training: Pipeline
    validation: Pipeline
    batch_size: int
    seed: int
    damage: Sequence[str] = ()
    damaged: int = 0
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    categories: Sequence[Any] = ()
    training_buckets: NDArray[Any] | None = None
    validation_buckets: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        """Reject a batch that is larger than a rank's part, of all images or of a bucket."""
        check_batch_size(self.batch_size, images=self.training_images, ranks=ranks.size())
        if self.training_buckets is not None:
            epoch_order.check_buckets(self.training_buckets, batch_size=self.batch_size, size=ranks.size())

    @classmethod
    def of_records(cls, splits: Sequence[Records], pipelines: Sequence[Pipeline], **others: Any) -> Self:
        """Return the images of opened splits.

        Args:
            splits: Records of the training images, and those of the validation images.
            pipelines: Pipelines of both.
            others: Values of the other attributes.
        """
        train, validation = splits
        return cls(
            training_images=len(train),
            validation_images=len(validation),
            training=pipelines[0],
            validation=pipelines[1],
            damage=[*train.damage, *validation.damage],
            damaged=train.damaged + validation.damaged,
            fingerprint={**train.fingerprint, **validation.fingerprint},
            **others,
        )

    def training_batches(self, position: Position) -> Iterator[Any]:
        """Yield the rest of the epoch, the same number of batches on every rank."""
        order, first_step = rank_records.training_order(
            self.training_images,
            position.segments,
            batch_size=self.batch_size,
            seed=self.seed,
            epoch=position.epoch,
            buckets=self.training_buckets,
        )
        return rank_records.alone(self.training.training(order, position.epoch, first_step))

    def validation_batches(self) -> Iterator[Any]:
        """Yield this rank's part of the validation images, each once."""
        order = rank_records.evaluation_order(
            self.validation_images, batch_size=self.batch_size, buckets=self.validation_buckets
        )
        return rank_records.alone(self.validation.evaluation(order))

    def skipped(self) -> dict[str, list[int]]:
        """Return the numbers of the records of each split that any rank has skipped; every rank must call it."""
        own = {TRAIN: self.training.skipped_records, VALIDATION: self.validation.skipped_records}
        return rank_records.skipped_by_any(own)

    def metadata(self) -> dict[str, Any]:
        """Return the state that a checkpoint keeps for `resume`; every rank must call it."""
        return {
            "skipped": self.skipped(),
            "training_images": self.training_images,
            "dataset": dict(self.fingerprint),
        }

    def resume(self, output: Path, written: Mapping[str, Any]) -> None:
        """Take over the skipped records of the checkpoint's metadata, so that none is counted or reported twice.

        Raises:
            UserError: The run began with other images, so that its record numbers mean other records now.
        """
        fingerprint.check(output, written["dataset"], self.fingerprint)
        self.training.skipped_records |= set(written["skipped"][TRAIN])
        self.validation.skipped_records |= set(written["skipped"][VALIDATION])

    def steps_sentence(self, global_batch: int, epochs: int) -> str:
        """Show the arithmetic of the steps so that a person can check it."""
        images, steps = self.training_images, self.training_images // global_batch
        # A bucket drops the images that fill no step.
        most = " at most" if self.training_buckets is not None else ""
        return (
            f"steps: {images} training images / {global_batch}, rounded down, = {steps} per epoch{most}; "
            f"x {epochs} epochs = {steps * epochs}"
        )

    def sentences(self) -> list[str]:
        """Describe how many images there are, and how many are skipped."""
        counted = f"data: {self.training_images:,} images to train on, {self.validation_images:,} to test with"
        if self.categories:
            counted += f", {len(self.categories)} categories"
        return [counted, *(f"warning: skipped: {each}" for each in self.damage), *self.notes]
