"""The images of a run, whatever decodes them: for each rank its part, in its order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from training.records import fingerprint, rank_records
from training.records.epoch_order import Order
from training.runtime.distributed import say
from training.runtime.errors import UserError
from training.runtime.position import Position


class Pipeline(Protocol):
    """Makes the batches of a split."""

    skipped_records: set[int]
    """Numbers of the skipped records since the start."""

    def training(self, order: Order, epoch: int, start_step: int = 0) -> Iterator[Any]:
        """Yield batches of random crops from a step on."""

    def evaluation(self, order: Order) -> Iterator[Any]:
        """Yield the centres of all images; what only fills a batch has weight 0."""


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
    training: Pipeline
    validation: Pipeline
    batch_size: int
    seed: int
    damage: Sequence[str] = ()
    damaged: int = 0
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    memory: Sequence[str] = ()

    def training_batches(self, position: Position) -> Iterator[Any]:
        """Yield the rest of the epoch, the same number of batches on every rank."""
        order, first_step = rank_records.training_order(
            self.training_images,
            position.segments,
            batch_size=self.batch_size,
            seed=self.seed,
            epoch=position.epoch,
        )
        return rank_records.alone(self.training.training(order, position.epoch, first_step))

    def validation_batches(self) -> Iterator[Any]:
        """Yield this rank's part of the validation images, each once."""
        order = rank_records.evaluation_order(self.validation_images, batch_size=self.batch_size)
        return rank_records.alone(self.validation.evaluation(order))

    def skipped(self) -> dict[str, list[int]]:
        """Return the numbers of the records of each split that any rank has skipped; every rank must call it."""
        own = {"train": self.training.skipped_records, "validation": self.validation.skipped_records}
        return rank_records.skipped_by_any(own)

    def metadata(self) -> dict[str, Any]:
        """Return what a checkpoint keeps for `resume`; every rank must call it."""
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
