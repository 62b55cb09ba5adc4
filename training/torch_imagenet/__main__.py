"""Train with PyTorch: torchrun --nproc-per-node 8 -m training.torch_imagenet --data-dir /data --output-dir /runs/a.

The networks are in `training.torch_imagenet.models`; epochs, checkpoints, stop requests and results are in
`training.runtime.loop`.
"""

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel

from training.imagenet.classification import accuracy_of_ranks, check_first_loss
from training.imagenet.classifier_settings import LAYOUTS, ClassifierSettings
from training.imagenet.crops_and_colors import DEVIATION, MEAN
from training.imagenet.recipe import sgd
from training.imagenet.synthetic_images import synthetic
from training.records import rank_records
from training.records.image_job import ImageJob
from training.records.run_data import Data
from training.records.shard_files import TRAIN, VALIDATION
from training.runtime import complete_run, curve, options, ranks, torch_ranks, wall_clock, watchdog
from training.runtime.command_line import whole_number
from training.runtime.cores import data_threads
from training.runtime.distributed import RankParser
from training.runtime.files import write_atomically
from training.runtime.options import changed, option
from training.runtime.position import Position
from training.runtime.stop_request import StopRequest
from training.runtime.task import Evaluation, StepInput, TrainStep
from training.torch_imagenet import image_batches, models, torch_devices
from training.torch_imagenet.image_batches import Batch, ImageBatches, SyntheticBatches
from training.torch_imagenet.models import MODELS
from training.torch_imagenet.torch_network import Network

# -------------------------------------------------------------------------------------------------------- settings


@dataclass(frozen=True, kw_only=True)
class Settings(ClassifierSettings):
    """The command line, an option a field."""

    image_size: int = changed(
        ClassifierSettings, "image_size", default=None, help="pixels of each side (the model's: 224, or 600 of B7)"
    )
    data_workers: int | None = option(
        whole_number(0, 1024),
        "processes of a rank that read and decode (TRAINING_DATA_THREADS, or else the rank's share of the cores)",
        default=None,
        group="data",
    )
    model: str = option(tuple(MODELS), "the network", default="resnet50", group="recipe", learned=True)
    compile: bool = option(
        bool,
        "make kernels for the network with torch.compile; the first step waits",
        default=False,
        group="machine",
    )
    output_dir: Path = changed(
        ClassifierSettings,
        "output_dir",
        help="folder for checkpoints/, tensorboard/, results.json, curve.svg and model.pt; a run in it resumes",
    )

    def __post_init__(self) -> None:
        """Choose the model's size of images where none is given."""
        super().__post_init__()
        object.__setattr__(self, "image_size", self.image_size or MODELS[self.model].image_size)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    description = f"Train a network of torchvision on ImageNet or on other images: {LAYOUTS}."
    return options.parse(Settings, "training.torch_imagenet", description, arguments, parser=RankParser)


# ---------------------------------------------------------------------------------------------------------- images


def load(settings: Settings, device: torch.device) -> Data:
    """Find the images; every rank must call it."""
    local = ranks.current().local_size()
    making = image_batches.Settings(
        run=settings,
        workers=data_threads(local) if settings.data_workers is None else settings.data_workers,
        device=device,
    )
    if settings.data_dir is None:
        return synthetic(SyntheticBatches(making), settings)
    splits = rank_records.open_splits(
        settings.data_dir, (TRAIN, VALIDATION), classes=settings.classes, skip_damaged=settings.skip_damaged
    )
    pipelines = [ImageBatches(records, making) for records in splits]
    return Data.of_records(splits, pipelines, batch_size=settings.batch_size, seed=settings.seed)


def to_float(images: torch.Tensor, flips: torch.Tensor) -> torch.Tensor:
    """Mirror and normalize a batch on its device: bytes are a quarter of the copy.

    Args:
        images: uint8 (batch x 3 x height x width).
        flips: The images to mirror, bool (batch).

    Returns:
        float32, in the order of channels-last.
    """
    mean, deviation = (torch.tensor(each, device=images.device).view(1, 3, 1, 1) for each in (MEAN, DEVIATION))
    chosen = torch.where(flips.view(-1, 1, 1, 1), images.flip(3), images)
    return ((chosen.float() - mean) / deviation).contiguous(memory_format=torch.channels_last)


# ------------------------------------------------------------------------------------------------- loss and evaluation

Forward = Callable[[torch.Tensor], torch.Tensor]


def forward_of(network: Network, device: torch.device, *, deterministic: bool, compiled: bool) -> Forward:
    """Return the forward pass whose backward pass averages the gradients of all ranks.

    Args:
        network: This rank's network.
        device: Its device.
        deterministic: Whether the gradients of more than two ranks always add up in the same order.
        compiled: Whether torch.compile makes kernels for it.
    """
    forward: torch.nn.Module = network.model
    if ranks.size() > 1:
        forward = DistributedDataParallel(
            forward,
            device_ids=[device.index] if device.type == "cuda" else None,
            # Otherwise the first step decides the order of the gradients in a message, so that a resumed run would have
            # another one: should_rebuild_buckets() in torch/csrc/distributed/c10d/reducer.hpp of 2.15.
            find_unused_parameters=deterministic,
        )
        # Each rank has the statistics of its images, as under TensorFlow; the mean is evaluated. Not as an argument:
        # that is `forward_sync_buffers` in torch 2.15, which 2.10, for V100, does not have.
        forward.broadcast_buffers = False
    made: Forward = torch.compile(forward) if compiled else forward
    return made


def make_train_step(network: Network, forward: Forward, *, precision: str | None, label_smoothing: float) -> TrainStep:
    """Return a step that minimizes the loss; every rank must call it with a batch of the same size.

    Args:
        network: This rank's network.
        forward: From `forward_of`.
        precision: `mixed_float16` or `float32`.
        label_smoothing: Share of a label that is spread over all classes.
    """
    weights, statistics = list(network.model.parameters()), network.moving_statistics
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=label_smoothing)

    def step(
        images: torch.Tensor, labels: torch.Tensor, flips: torch.Tensor, seed: int
    ) -> tuple[Mapping[str, torch.Tensor], bool]:
        # The seed of the step, so that a resumed run drops the same activations.
        torch.manual_seed(seed)
        network.model.train()
        before = [each.clone() for each in statistics]
        with torch.autocast(images.device.type, torch.float16, enabled=precision == "mixed_float16"):
            logits = forward(to_float(images, flips))
        loss = loss_of(logits.float(), labels)
        network.sgd.zero_grad(set_to_none=True)
        (loss * float(network.loss_scale)).backward()
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        torch._foreach_div_(gradients, float(network.loss_scale))
        # The mean over the ranks: a gradient that is not finite on one is not finite on any, so all skip the step.
        finite = bool(torch.isfinite(torch.nn.utils.get_total_norm(gradients)))
        if finite:
            network.sgd.step()
        else:
            # The forward pass has moved the statistics already, perhaps to infinity.
            torch._foreach_copy_(statistics, before)
        network.note_step(finite)
        return {"training": loss.detach()}, finite

    return step


@torch.no_grad()
def evaluate(model: torch.nn.Module, batches: Iterable[Batch], *, precision: str | None) -> Evaluation:
    """Return the accuracy on the batches of all ranks.

    Args:
        model: The network.
        batches: This rank's images, on their device.
        precision: `mixed_float16` or `float32`.
    """
    model.eval()
    counts = np.zeros(3, np.int64)
    for batch in batches:
        watchdog.progress()
        with torch.autocast(batch.images.device.type, torch.float16, enabled=precision == "mixed_float16"):
            logits = model(to_float(batch.images, batch.flips))
        guesses = logits.topk(min(5, logits.shape[1])).indices
        counted = batch.weights > 0
        hits = (guesses == batch.labels[:, None]) & counted[:, None]
        counts += torch.stack([counted.sum(), hits[:, 0].sum(), hits.sum()]).cpu().numpy()
    return accuracy_of_ranks(counts)


# ------------------------------------------------------------------------------------------------------------- main


def make_job(given: Settings, device: torch.device) -> ImageJob:
    """Return the job of the current ranks.

    Raises:
        UserError: The images are damaged, or an option does not fit them or the number of ranks.
    """
    recipe = sgd(**given.given, epochs=given.epochs)
    settings = given.with_recipe(recipe)
    if settings.deterministic:
        torch_devices.make_deterministic()
    torch.backends.cudnn.benchmark = not settings.deterministic
    torch.manual_seed(settings.seed)
    network = Network(
        models.build(settings.model, settings.classes).to(device),
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        scaled=settings.precision == "mixed_float16",
    )
    data = load(settings, device)
    forward = forward_of(network, device, deterministic=settings.deterministic, compiled=settings.compile)
    parameters = sum(each.numel() for each in network.model.parameters())
    return ImageJob(
        settings=settings,
        device=torch_devices.name(device),
        versions=torch_devices.versions,
        data=data,
        network=network,
        network_sentences=[f"network: {settings.model}, {parameters:,} parameters"],
        optimizer=network,
        train_step=make_train_step(
            network, forward, precision=settings.precision, label_smoothing=settings.label_smoothing
        ),
        step_inputs=partial(step_inputs, settings.seed),
        check_first_losses=lambda losses: check_first_loss(losses["training"], settings.classes),
        evaluate=lambda: evaluate(network.model, data.validation_batches(), precision=settings.precision),
        rate=recipe.rate,
        rate_sentences=recipe.sentences(settings.batch_size * ranks.size(), ranks.size(), has_lars=False),
        figures={"model": settings.model},
        export=lambda: export(network.model, settings.output_dir / "model.pt"),
    )


def step_inputs(seed: int, position: Position, batches: Iterator[Batch]) -> Iterator[StepInput]:
    """Yield the arguments of the train step, with the seed of its dropout on this rank."""
    for step, (images, labels, flips, _) in enumerate(batches, start=position.step):
        drawn = np.random.SeedSequence([seed, step, ranks.rank()]).generate_state(1, np.uint64)[0]
        yield StepInput((images, labels, flips, int(drawn >> np.uint64(1))))


def export(model: torch.nn.Module, path: Path) -> None:
    """Write the weights at once, for `load_state_dict` of the network that `models.build` makes.

    Without the padding of `resnet50-same`, which is no part of the weights: torchvision's resnet50 loads its file
    without an error, and computes something else until `pad_as_tensorflow` has changed it.
    """
    # On the CPU: a machine without a GPU cannot load them otherwise.
    weights = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    # Through memory: where a disk is full, torch.save raises an error that does not say so.
    content = io.BytesIO()
    torch.save(weights, content)
    write_atomically(path, [content.getbuffer()])


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    began, stop = wall_clock.process_start(), StopRequest()
    given = parse()
    device = torch_devices.choose()
    task = make_job(given.on_device(gpu=device.type == "cuda"), device).task()
    watchdog.progress()
    try:
        with torch_devices.losses_reported(task.lower):
            complete_run.complete(task, stop, lambda: None, began)
    finally:
        watchdog.finished()
    curve.draw(task.plan.output)


if __name__ == "__main__":
    # torchrun's environment says where the other ranks are; without it this one is alone.
    sys.exit(torch_ranks.run(main))
