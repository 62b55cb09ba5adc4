"""The middle of every program that trains on records of images: loss, network, records and rate are its parts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..runtime import options, ranks
from ..runtime.position import Position
from ..runtime.ranks import Variable
from ..runtime.run_settings import RunSettings
from ..runtime.schedule import batch_sentence
from ..runtime.task import Evaluation, Plan, StepInput, Task, TrainStep
from .run_data import Data


class Network(Protocol):
    """Model and optimizer."""

    @property
    def variables(self) -> Sequence[Variable]:
        """Variables that are the same on every rank."""

    @property
    def statistics(self) -> Sequence[Variable]:
        """float32 variables that each rank calculates from its own images."""


def _step_inputs(_: Position, batches: Iterator[Any]) -> Iterator[StepInput]:
    return map(StepInput, batches)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageJob:
    """The training of a rank.

    Attributes:
        settings: The command line, with the values of device and recipe.
        device: Name of the device, such as `cpu` or the GPU's name.
        versions: Returns the versions of the software that a figure depends on.
        data: Training images and validation images.
        network: Model and optimizer.
        optimizer: Its `learning_rate` is set before each step.
        train_step: Compiled; it minimizes the loss.
        check_first_losses: Raises UserError where the mean losses of the first step cannot be right.
        evaluate: Evaluates the model.
        rate: Returns the learning rate after a number of epochs, which may be a fraction, for a global batch.
        rate_sentences: Description of the rate.
        network_sentences: Description of the network.
        step_inputs: Turns the batches from a position on into arguments of the train step.
        figures: Other figures for results.json.
        export: Writes the model at the end; on rank zero alone.
    """

    settings: RunSettings
    device: str
    versions: Callable[[], Mapping[str, str]]
    data: Data
    network: Network
    optimizer: Any
    train_step: TrainStep
    check_first_losses: Callable[[Mapping[str, float]], object]
    evaluate: Callable[[], Evaluation]
    rate: Callable[[float, int], float]
    rate_sentences: Sequence[str]
    network_sentences: Sequence[str] = ()
    step_inputs: Callable[[Position, Iterator[Any]], Iterator[StepInput]] = _step_inputs
    figures: Mapping[str, Any] = field(default_factory=dict)
    export: Callable[[], object]

    @property
    def global_batch(self) -> int:
        """Images per step over the current ranks."""
        return self.settings.batch_size * ranks.size()

    def plan(self) -> Plan:
        """Return the length of the run, and how often it saves and evaluates."""
        settings = self.settings
        return Plan(
            output=settings.output_dir,
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            training_images=self.data.training_images,
            checkpoint_every=settings.checkpoint_every,
            evaluate_every=settings.evaluate_every,
            keep_checkpoints=settings.keep_checkpoints,
        )

    def task(self, **others: Any) -> Task:
        """Return the task of the loop.

        Args:
            others: Attributes of the task that the job does not have, such as `draw`.
        """
        return Task(
            plan=self.plan(),
            sentences=self.sentences(),
            settings=options.learned(self.settings),
            variables=self.network.variables,
            statistics=self.network.statistics,
            optimizer=self.optimizer,
            train_step=self.train_step,
            batches=lambda position: self.step_inputs(position, self.data.training_batches(position)),
            rate=self._rate,
            evaluate=self.evaluate,
            versions=self.versions,
            lower="; ".join(self.settings.ways_to_less_memory()),
            check_first_losses=self.check_first_losses,
            resume=lambda written: self.data.resume(self.settings.output_dir, written),
            names=("skipped", "training_images", "dataset"),
            metadata=self.data.metadata,
            figures=self._figures,
            export=self.export,
            **others,
        )

    def _rate(self, position: Position) -> float:
        return self.rate(position.epoch + position.images / self.data.training_images, self.global_batch)

    def _figures(self) -> dict[str, Any]:
        skipped = self.data.skipped()
        return {
            "damaged_records": self.data.damaged + sum(len(numbers) for numbers in skipped.values()),
            "device": self.device,
            "precision": self.settings.precision,
            **self.figures,
        }

    def sentences(self) -> list[str]:
        """Show the arithmetic so that a person can check it."""
        settings = self.settings
        return [
            f"ranks: {ranks.size()}, of them {ranks.current().local_size()} on the machine of rank 0, which computes "
            f"on: {self.device}, in {settings.precision}",
            *self.data.sentences(),
            *self.network_sentences,
            batch_sentence(settings.batch_size, ranks.size()),
            self.data.steps_sentence(self.global_batch, settings.epochs),
            *self.rate_sentences,
        ]
