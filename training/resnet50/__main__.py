"""Train ResNet-50: mpirun -np 8 python -m training.resnet50 --data-dir /fsx/data/imagenet --output-dir /fsx/runs/a.

The network is in `training.resnet50.model`; epochs, checkpoints, stop requests and results are in
`training.runtime.loop`.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

from training.imagenet.classification import accuracy_of_ranks, check_first_loss
from training.imagenet.classifier_settings import LAYOUTS, ClassifierSettings
from training.imagenet.image_decoding import to_float
from training.imagenet.image_work import Batch
from training.imagenet.recipe import LARS_VALUES, Recipe, lars, sgd
from training.records.image_job import ImageJob
from training.resnet50 import model
from training.resnet50.rank_images import load
from training.runtime import command_line, devices, elastic, options, ranks, tensorflow_ranks, training_run, watchdog
from training.runtime.distributed import RankParser, run
from training.runtime.errors import UserError
from training.runtime.network import Network, make_network
from training.runtime.options import changed, option
from training.runtime.position import Position
from training.runtime.run_settings import TensorFlowSettings
from training.runtime.stop_request import StopRequest
from training.runtime.task import Evaluation, StepInput
from training.runtime.train_step import Losses, make_train_step

# -------------------------------------------------------------------------------------------------------- settings

#: The software that may connect the ranks; the first is the default.
STRATEGIES = ("horovod", "multiworker")


@dataclass(frozen=True, kw_only=True)
class Settings(ClassifierSettings, TensorFlowSettings):
    """The command line, an option a field."""

    cache: str = option(
        ("off", "records", "decoded"),
        "keep in memory after the first epoch: the records, for slow storage; or the images, decoded and reduced "
        "to a short side of 256 pixels, for few CPU cores",
        default="off",
        group="data",
        # Records in memory change nothing that is learned.
        learned=lambda cache: "decoded" if cache == "decoded" else "off",
    )
    decode: str = option(
        ("cpu", "gpu"),
        "where JPEGs are decoded; gpu needs NVIDIA DALI, and was not run on a GPU yet",
        default="cpu",
        group="data",
        learned=True,
    )
    optimizer: str = option(
        ("sgd", "lars"),
        "lars, for 8,192 images a step over all ranks and more, defaults to MLPerf's values for this batch",
        default="sgd",
        group="recipe",
        learned=True,
    )
    strategy: str = option(
        STRATEGIES,
        "what connects the ranks that mpirun starts; multiworker is TensorFlow's MultiWorkerMirroredStrategy, which "
        "needs no Horovod; elastic jobs need horovod; a run may change it when it resumes",
        default=STRATEGIES[0],
        group="ranks",
    )
    output_dir: Path = changed(
        TensorFlowSettings,
        "output_dir",
        help="folder for checkpoints/, tensorboard/, results.json, curve.svg and model.keras; a run in it resumes",
    )

    def __post_init__(self) -> None:
        """Reject options that exclude each other."""
        super().__post_init__()
        if self.synthetic and self.cache != "off":
            raise UserError(f"'--synthetic' and '--cache {self.cache}' are both given; omit one: nothing is read")
        if (self.decode, self.cache) == ("gpu", "decoded"):
            raise UserError("'--decode gpu' and '--cache decoded' are both given; give one of them")

    def ways_to_less_memory(self) -> list[str]:
        """Return the options with which the run needs less memory, a clause each."""
        of_cache = [] if self.cache == "off" else ["'--cache' takes memory of the machine: omit it"]
        return [*TensorFlowSettings.ways_to_less_memory(self), *of_cache] or super().ways_to_less_memory()


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    description = f"Train ResNet-50 v1.5 on ImageNet or on other images: {LAYOUTS}."
    return options.parse(Settings, "training.resnet50", description, arguments, parser=RankParser)


def strategy_of(arguments: Sequence[str]) -> str:
    """Return the strategy of a command line, whose other mistakes the ranks report when they are connected."""
    parser = command_line.Parser(add_help=False)
    options.add(parser, "strategy", options.stated_options(Settings)["strategy"])
    try:
        return str(parser.parse_known_args(arguments)[0].strategy)
    except UserError:
        return STRATEGIES[0]


# ----------------------------------------------------------------------------------------------------- rate and loss

# LARS: how far a layer may move for its length; https://arxiv.org/abs/1708.03888, and MLPerf's reference.
_TRUST = 0.001


def recipe_of(settings: Settings) -> Recipe:
    """Return the optimizer and its schedule, for the current ranks.

    Raises:
        UserError: No values of LARS are published for this batch, and not all are given.
    """
    if settings.optimizer == "sgd":
        return sgd(**settings.given, epochs=settings.epochs)
    if elastic.active() and None in settings.given.values():
        raise UserError(
            "'--optimizer' is lars, and the number of ranks may change: published values are for one global batch; "
            f"give {LARS_VALUES}"
        )
    return lars(**settings.given, epochs=settings.epochs, global_batch=settings.batch_size * ranks.size())


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """The loss, and the decay of the weights.

    Attributes:
        classes: Number of classes.
        label_smoothing: Share of a label that is spread over all classes.
        weight_decay: Factor of the L2 term's gradient.
        lars: Whether each layer's step is set by the length of its weights.
    """

    classes: int
    label_smoothing: float
    weight_decay: float
    lars: bool

    def losses_of(self, network: tf.keras.Model) -> Losses:
        """Return the forward pass of a model in training."""

        def losses(images: tf.Tensor, labels: tf.Tensor, flips: tf.Tensor) -> Mapping[str, tf.Tensor]:
            logits = network(to_float(images, flips, network.compute_dtype), training=True)
            return {"training": self.smoothed_loss(logits, labels)}

        return losses

    def smoothed_loss(self, logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Return the mean cross-entropy with smoothed labels: [batch, classes] and [batch] to a number."""
        loss_of = tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=self.label_smoothing)
        return loss_of(tf.one_hot(labels, self.classes), logits)

    def decay(self, gradient: tf.Tensor, weight: tf.Variable) -> tf.Tensor:
        """Add the gradient of the L2 term, and for LARS set the length of the step."""
        if len(weight.shape) == 1 and (self.lars or not _is_head_bias(weight)):
            # Batch normalization's scale and shift decay in neither recipe; LARS excludes the last layer's bias, too.
            return gradient
        decayed = gradient + self.weight_decay * weight
        if not self.lars:
            return decayed
        length, slope = tf.norm(weight), tf.norm(gradient)
        trust = tf.math.divide_no_nan(_TRUST * length, slope + self.weight_decay * length)
        return decayed * tf.where((length > 0) & (slope > 0), trust, 1.0)


def _is_head_bias(weight: tf.Variable) -> bool:
    return weight.name.startswith("dense") and "bias" in weight.name


# ------------------------------------------------------------------------------------------------------- evaluation


def make_evaluation_step(network: tf.keras.Model) -> tf.types.experimental.GenericFunction:
    """Compile a step: (images, labels, flips, weights) to the numbers [counted, right, right among five]."""

    @tf.function(autograph=False)
    def evaluation_step(images: tf.Tensor, labels: tf.Tensor, flips: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        logits = network(to_float(images, flips, network.compute_dtype), training=False)
        guesses = tf.math.top_k(logits, min(5, logits.shape[-1])).indices
        hits = (guesses == labels[:, tf.newaxis]) & (weights > 0)[:, tf.newaxis]
        return tf.stack([tf.math.count_nonzero(each) for each in (weights, hits[:, 0], hits)])

    return evaluation_step


def evaluate(evaluation_step: tf.types.experimental.GenericFunction, batches: Iterable[Batch]) -> Evaluation:
    """Return the accuracy on the batches of all ranks, whose number may differ from rank to rank."""
    total = np.zeros(3, np.int64)
    for batch in batches:
        watchdog.progress()
        total += evaluation_step(*batch).numpy()
    return accuracy_of_ranks(total)


# ------------------------------------------------------------------------------------------------------------- main


def prepare(given: Settings) -> tuple[Settings, str, Network]:
    """Set up the device and make the network.

    Returns:
        The settings with the values of the device, the device's name, and the network.
    """
    settings, device = devices.prepare(given, gradients=model.VARIABLES)
    network = make_network(model.build(settings.image_size, settings.classes), recipe_of(settings).momentum)
    return settings, device, network


def make_job(given: Settings, device: str, network: Network) -> ImageJob:
    """Return the job of the current ranks.

    Raises:
        UserError: The images are damaged, or an option does not fit them or the number of ranks.
    """
    recipe = recipe_of(given)
    settings = given.with_recipe(recipe)
    objective = Objective(
        classes=settings.classes,
        label_smoothing=settings.label_smoothing,
        weight_decay=recipe.weight_decay,
        lars=recipe.optimizer == "lars",
    )
    data = load(settings, kept=settings.cache, dali=settings.decode == "gpu", on_gpu=device != "cpu")
    evaluation_step = make_evaluation_step(network.model)
    return ImageJob(
        settings=settings,
        device=device,
        versions=tensorflow_ranks.versions,
        data=data,
        network=network,
        optimizer=network.optimizer,
        train_step=make_train_step(
            network,
            objective.losses_of(network.model),
            decay=objective.decay,
            compression=settings.compression,
            deterministic=settings.deterministic,
        ),
        step_inputs=step_inputs,
        check_first_losses=lambda losses: check_first_loss(losses["training"], settings.classes),
        evaluate=lambda: evaluate(evaluation_step, data.validation_batches()),
        rate=recipe.rate,
        rate_sentences=recipe.sentences(settings.batch_size * ranks.size(), ranks.size()),
        figures={"strategy": settings.strategy},
        export=lambda: network.export(settings.output_dir / "model.keras"),
    )


def step_inputs(_: Position, batches: Iterator[Batch]) -> Iterator[StepInput]:
    """Yield the arguments of the train step."""
    for images, labels, flips, _ in batches:
        yield StepInput((images, labels, flips))


def find_ranks(arguments: Sequence[str]) -> None:
    """Find the other ranks by the strategy of a command line; without mpirun this one is alone.

    Raises:
        UserError: The strategy cannot be used here.
    """
    strategy = strategy_of(arguments)
    if strategy == "horovod" and importlib.util.find_spec("horovod") is None:
        raise UserError("'--strategy' is horovod, which is not installed; give '--strategy multiworker'")
    # Here: one runs where the other's software is not.
    importlib.import_module(f"training.runtime.{strategy}_ranks").init()


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    stop = StopRequest()
    settings, device, network = prepare(parse())
    variables = [*network.variables, *network.statistics]
    training_run.train(lambda: make_job(settings, device, network).task(), variables, stop)


def start() -> int:
    """Run the program and return its exit code."""
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    # Without the other ranks each reports its error itself.
    return command_line.exit_code(lambda: find_ranks(sys.argv[1:])) or run(main)


if __name__ == "__main__":
    sys.exit(start())
