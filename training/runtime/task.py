"""The interface between a program and the loop."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .every import Every
from .position import Position
from .ranks import Variable

#: A step: the tensors of a batch to (the losses of this rank's images by name, whether the weights were changed).
TrainStep = Callable[..., tuple[Mapping[str, Any], Any]]


class LossCurves(NamedTuple):
    """The names of the losses' curves in TensorBoard."""

    total: str = "loss"
    """Name of the curve of their sum."""
    prefix: str = "loss "
    """Before the name of each, where there are several."""


class StepInput(NamedTuple):
    """A rank's part of one step."""

    tensors: Sequence[Any]
    """The arguments of the train step."""
    share: float = 1.0
    """The part of the batch that counts: less than 1 where some of it only fills it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The result of an evaluation, the same on every rank."""

    results: Mapping[str, float]
    """For results.json."""
    accuracy: Mapping[str, float]
    """For the curve, such as `top-1`."""
    sentence: str
    """For the line of an epoch."""
    curves: Mapping[str, float] | None = None
    """For TensorBoard, under these names. Default: `accuracy`, such as "top-1 accuracy"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The length of a run, and how often it saves and evaluates."""

    output: Path
    """The folder given as '--output-dir'."""
    epochs: int
    """Passes over the training images."""
    batch_size: int
    """Images per rank and step."""
    training_images: int
    """Images per epoch, over all ranks."""
    checkpoint_every: Every
    """A checkpoint also follows the last epoch, and a stop request."""
    evaluate_every: Every
    """The last epoch is evaluated in any case."""
    keep_checkpoints: int = 3
    """Checkpoints to keep."""
    bad_steps: int = 25
    """Steps in a row whose gradients are not finite, after which the run has diverged. A loss scale of 2^15 is halved
    to 1 in 15 steps: gradients that are not finite then never will be."""
    warm_up_steps: int = 50
    """Steps that compile, autotune and fill caches; they are not in the steady speed."""
    detailed: bool = True
    """Whether lines appear between epochs, and times of steps; not for a run of seconds."""


_LOSS_CURVES = LossCurves()


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """The training of a rank; the loop calls all functions on all ranks, unless they say otherwise.

    Attributes:
        plan: How long, and how often.
        sentences: Lines to print first.
        settings: The options that decide what is learned, by name: a run resumes only with the same.
        variables: Variables that are the same on every rank: weights, optimizer.
        optimizer: Its `learning_rate` is set before each step; its `loss_scale`, if it has one, is a curve.
        train_step: Compiled.
        batches: Yields the rest of the epoch of a position, the same number of steps on every rank.
        rate: Returns the learning rate of a position.
        evaluate: Evaluates the model.
        versions: Returns the versions of the software that a figure depends on.
        lower: Options to change where the memory does not suffice.
        statistics: float32 variables that differ from rank to rank; the mean is evaluated.
        score: The name in results.json of the number that describes a finished run.
        loss_curves: The names of the losses' curves.
        check_first_losses: Gets the mean losses of the first step, and raises UserError where they cannot be right.
        resume: Gets the metadata of the checkpoint from which the run resumes.
        names: Names of the metadata that `resume` reads: the checkpoints of another program have others.
        metadata: Returns other metadata of a checkpoint.
        figures: Returns other figures for results.json.
        export: Writes other files than results.json at the end; on rank zero alone.
        draw: Draws other pictures, after everything else; on rank zero alone, and it raises nothing.
    """

    plan: Plan
    sentences: Sequence[str]
    settings: Mapping[str, Any]
    variables: Sequence[Variable]
    optimizer: Any
    train_step: TrainStep
    batches: Callable[[Position], Iterator[StepInput]]
    rate: Callable[[Position], float]
    evaluate: Callable[[], Evaluation]
    versions: Callable[[], Mapping[str, str]]
    lower: str
    statistics: Sequence[Variable] = ()
    score: str = "accuracy"
    loss_curves: LossCurves = _LOSS_CURVES
    check_first_losses: Callable[[Mapping[str, float]], object] = _nothing
    resume: Callable[[Mapping[str, Any]], object] = _nothing
    names: Sequence[str] = ()
    metadata: Callable[[], Mapping[str, Any]] = _nothing
    figures: Callable[[], Mapping[str, Any]] = _nothing
    export: Callable[[], object] = _nothing
    draw: Callable[[], object] = _nothing
