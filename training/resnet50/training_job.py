"""What a rank trains, with what, and how: everything that the command line decides."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from training.imagenet.split_images import Data
from training.resnet50 import model
from training.resnet50.evaluation import evaluate, make_evaluation_step
from training.resnet50.objective import Objective
from training.resnet50.rank_images import load
from training.resnet50.recipe import LARS_VALUES, Given, Recipe, lars, sgd
from training.resnet50.settings import Settings
from training.runtime import devices, elastic, ranks, tensorflow_ranks, xla
from training.runtime.errors import UserError
from training.runtime.network import Network, make_network
from training.runtime.position import Position
from training.runtime.schedule import batch_sentence
from training.runtime.task import Evaluation, Plan, StepInput, Task
from training.runtime.tensorflow_framework import TENSORFLOW
from training.runtime.train_step import StepOptions, make_train_step

#: What runs did before an option existed: their checkpoints resume with it.
BEFORE_OPTIONS = {"--momentum": 0.875, "--min-crop-area": 0.08, "--mirror": "on", "--cache": "off", "--decode": "cpu"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a rank trains, with what, and how.

    Attributes:
        settings: The command line, with what the device decides.
        device: What the rank computes on, such as `cpu` or the GPU's name.
        recipe: The optimizer and its schedule.
        data: Training images and validation images.
        network: Model and optimizer.
    """

    settings: Settings
    device: str
    recipe: Recipe
    data: Data
    network: Network

    @property
    def global_batch(self) -> int:
        """Images per step over the current ranks."""
        return self.settings.batch_size * ranks.size()

    @property
    def resume_settings(self) -> dict[str, Any]:
        """The options that decide what is learned: a run resumes only with the same.

        Without the batch and the ranks, which may change: the schedule counts images.
        """
        settings, recipe = self.settings, self.recipe
        return {
            "--epochs": settings.epochs,
            "--image-size": settings.image_size,
            "--classes": settings.classes,
            "--precision": settings.precision,
            "--optimizer": recipe.optimizer,
            # As it is printed, so that it can be given again.
            "--learning-rate": float(f"{recipe.learning_rate:g}"),
            "--warmup-epochs": recipe.schedule.warmup_epochs,
            "--weight-decay": float(f"{recipe.weight_decay:g}"),
            "--momentum": float(f"{recipe.momentum:g}"),
            "--label-smoothing": settings.label_smoothing,
            "--min-crop-area": settings.min_crop_area,
            "--mirror": settings.mirror,
            # Records in memory change nothing that is learned.
            "--cache": "decoded" if settings.cache == "decoded" else "off",
            "--decode": settings.decode,
            "--seed": settings.seed,
        }

    def task(self) -> Task:
        """Return what the loop needs, with compiled steps."""
        settings, network, data = self.settings, self.network, self.data
        evaluation_step = make_evaluation_step(network.model)

        def evaluated() -> Evaluation:
            return evaluate(evaluation_step, data.validation_batches()).evaluation()

        return Task(
            plan=self._plan(),
            sentences=self.sentences(),
            settings=self.resume_settings,
            variables=network.variables,
            statistics=network.statistics,
            optimizer=network.optimizer,
            train_step=make_train_step(network, self.objective.losses_of(network.model), self.step_options()),
            batches=self._batches,
            rate=self._rate,
            evaluate=evaluated,
            framework=TENSORFLOW,
            lower=_lower(settings),
            check_first_losses=self.objective.check_first,
            resume=lambda written: data.resume(settings.output_dir, written),
            settings_before=self.before_options,
            names=("position", "skipped", "training_images"),
            metadata=data.metadata,
            figures=self._figures,
            export=lambda: network.export(settings.output_dir / "model.keras"),
        )

    @property
    def objective(self) -> Objective:
        """The loss, and the decay of the weights."""
        return Objective(
            classes=self.settings.classes,
            label_smoothing=self.settings.label_smoothing,
            weight_decay=self.recipe.weight_decay,
            lars=self.recipe.optimizer == "lars",
        )

    def step_options(self) -> StepOptions:
        """Return the options of a training step."""
        settings = self.settings
        return StepOptions.of_run(
            decay=self.objective.decay, compression=settings.compression, deterministic=settings.deterministic
        )

    def _plan(self) -> Plan:
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

    def _batches(self, position: Position) -> Iterator[StepInput]:
        for images, labels, flips, _ in self.data.training_batches(position):
            yield StepInput((images, labels, flips))

    def _rate(self, position: Position) -> float:
        epoch = position.epoch + position.images / self.data.training_images
        return self.recipe.rate(epoch, self.global_batch)

    @property
    def before_options(self) -> dict[str, Any]:
        """Return what a checkpoint means that lacks an option; one of LARS does not name its momentum."""
        if self.recipe.optimizer == "lars":
            return {**BEFORE_OPTIONS, "--momentum": self.resume_settings["--momentum"]}
        return BEFORE_OPTIONS

    def _figures(self) -> dict[str, Any]:
        skipped = self.data.skipped()
        return {
            "damaged_records": self.data.damaged + sum(len(numbers) for numbers in skipped.values()),
            "device": self.device,
            "precision": self.settings.precision,
            "strategy": self.settings.strategy,
        }

    def sentences(self) -> list[str]:
        """Show the arithmetic so that a person can check it."""
        settings, images, batch = self.settings, self.data.training_images, self.global_batch
        steps = images // batch
        return [
            f"ranks: {ranks.size()}, of them {ranks.current().local_size()} on the machine of rank 0, which computes "
            f"on: {self.device}, in {settings.precision}",
            *self.data.sentences(),
            batch_sentence(settings.batch_size, ranks.size()),
            f"steps: {images} training images / {batch}, rounded down, = {steps} per epoch; x {settings.epochs} epochs "
            f"= {steps * settings.epochs}",
            self.recipe.sentence(batch),
            *self.recipe.warnings(batch, ranks.size()),
        ]


def prepare(given: Settings) -> tuple[Settings, str, Network]:
    """Set up the device and make the network.

    Returns:
        The settings with what the device decides, the device's name, and the network.
    """
    connected = tensorflow_ranks.current()
    if given.xla != "off":
        # Before TensorFlow looks for devices, so before a GPU has decided on XLA; without XLA it has no effect.
        xla.limit_clusters(model.VARIABLES)
    device = devices.pin(connected.local_rank(), connected.local_size())
    settings = given.on_device(gpu=device != "cpu")
    tf.keras.mixed_precision.set_global_policy(settings.precision)
    if settings.xla == "on":
        tf.config.optimizer.set_jit("autoclustering")
    tf.keras.utils.set_random_seed(settings.seed)
    if settings.deterministic:
        tf.config.experimental.enable_op_determinism()
    # With the device that was chosen, and before anything is computed.
    connected.connect()
    network = make_network(model.build(settings.image_size, settings.classes), _recipe(settings).momentum)
    return settings, device, network


def make_job(settings: Settings, device: str, network: Network) -> Job:
    """Return what the current ranks train.

    Raises:
        UserError: The images are damaged, or an option does not fit them or the number of ranks.
    """
    chosen = _recipe(settings)
    data = load(settings, on_gpu=device != "cpu")
    return Job(settings=settings, device=device, recipe=chosen, data=data, network=network)


def _recipe(settings: Settings) -> Recipe:
    given: Given = {
        "learning_rate": settings.learning_rate,
        "warmup_epochs": settings.warmup_epochs,
        "weight_decay": settings.weight_decay,
        "momentum": settings.momentum,
    }
    if settings.optimizer == "sgd":
        return sgd(**given, epochs=settings.epochs)
    if elastic.active() and None in given.values():
        raise UserError(
            "'--optimizer' is lars, and the number of ranks may change: published values are for one global batch; "
            f"give {LARS_VALUES}"
        )
    return lars(**given, epochs=settings.epochs, global_batch=settings.batch_size * ranks.size())


def _lower(settings: Settings) -> str:
    """Return what to do where the memory does not suffice."""
    size = settings.batch_size
    ways = [f"'--batch-size' is {size}: give {size // 2} or less"] if size > 1 else []
    if settings.precision == "float32":
        ways.append("on a GPU '--precision mixed_float16' halves what the layers keep")
    if settings.cache != "off":
        ways.append("'--cache' takes memory of the machine: omit it")
    return "; ".join(ways) or f"'--image-size' is {settings.image_size}: give a smaller one"
