"""Convert the newest checkpoint of a run of training.resnet50, which training.torch_imagenet then resumes.

python -m training.torch_imagenet.convert_checkpoint --from-dir /fsx/runs/horovod --output-dir /fsx/runs/torch

Resume it with '--model resnet50-same' and the same options. The files of the run stay as they are.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.imagenet.recipe import sgd
from training.runtime import checkpoint, command_line, files, metadata, options, rank_checkpoint
from training.runtime.checkpoint import Checkpoint
from training.runtime.command_line import path
from training.runtime.errors import UserError
from training.runtime.options import option
from training.runtime.position import Position
from training.torch_imagenet import models
from training.torch_imagenet.torch_network import Network

#: The network of training.resnet50, among those of `--model`.
MODEL = "resnet50-same"

# The settings of both programs, by the options' names.
_SETTINGS = (
    "--epochs --image-size --classes --precision --learning-rate --warmup-epochs --weight-decay --momentum "
    "--label-smoothing --min-crop-area --mirror --seed".split()
)
# The other names in each checkpoint of training.resnet50.
_NAMES = ("position", "results", "epoch_losses", "skipped", "training_images", "dataset")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    from_dir: Path = option(path, "'--output-dir' of training.resnet50")
    output_dir: Path = option(path, "'--output-dir' of training.torch_imagenet")


def main(arguments: Sequence[str] | None = None) -> None:
    """Convert the checkpoint that the command line names."""
    given = options.parse(Settings, "training.torch_imagenet.convert_checkpoint", __doc__, arguments)
    source, output = given.from_dir, given.output_dir
    found = checkpoint.newest(source / rank_checkpoint.FOLDER)
    if found is None:
        raise UserError(f"'--from-dir' is {source}, which has no checkpoint; give the '--output-dir' of a run")
    if checkpoint.paths(output / rank_checkpoint.FOLDER):
        raise UserError(f"'--output-dir' is {output}, which has checkpoints; give another folder")
    converted = convert(found, source)
    rank_checkpoint.check_folder(output)
    try:
        written = checkpoint.save(output / rank_checkpoint.FOLDER, converted)
    except OSError as error:
        raise files.unwritable(output, error) from error
    print(f"{written}: step {converted.step}, of {source}; resume with '--model {MODEL}' and the options of that run")


def convert(written: Checkpoint, source: Path) -> Checkpoint:
    """Return a checkpoint of training.torch_imagenet at the same image as one of training.resnet50.

    Args:
        written: Checkpoint of training.resnet50.
        source: Its folder, for errors.

    Raises:
        UserError: Another program wrote it, or LARS.
    """
    settings = _settings(written, source)
    network = Network(models.build(MODEL, settings["--classes"]), momentum=0.0, weight_decay=0.0, scaled=False)
    weights = len(list(network.model.parameters()))
    # Weights; step and learning rate; momentum; loss scale and its finite steps; the statistics, a row for each rank.
    if len(written.arrays) != 2 * weights + 5:
        raise _not_of_resnet50(source)
    arrays, rows = _arrays(written, network, settings), written.arrays[-1]
    length = sum(each.numel() for each in network.moving_statistics)
    if [each.shape for each in arrays] != [each.shape for each in network.variables] or rows.shape[1:] != (length,):
        raise _not_of_resnet50(source)
    names = [each.name for each in network.variables]
    made = {**written.metadata, "names": names, "settings": {"--model": MODEL, **settings}}
    # The rows have the mean and the variance of each normalization, in the same order as PyTorch's.
    return Checkpoint(step=written.step, arrays=[*arrays, rows], metadata=made)


def _arrays(written: Checkpoint, network: Network, settings: Mapping[str, Any]) -> list[NDArray[Any]]:
    """Return the arrays in the order of `Network.variables`."""
    names = [name for name, _ in network.model.named_parameters()]
    order = [names.index(name) for name in _order_of_keras(names)]
    weights, momentum = written.arrays[: len(names)], written.arrays[len(names) + 2 : -3]
    iterations, (scale, finite_steps) = written.arrays[len(names)], written.arrays[-3:-1]
    rate = _next_rate(written.metadata, settings)
    counts = sum(not each.is_floating_point() for each in network.model.buffers())
    return [
        *_in_order(weights, order),
        # Keras adds the gradient times the rate to its momentum and PyTorch the gradient alone: divided, the next step
        # is the same (`update_step` in keras/src/optimizers/sgd.py of 2.15). Where the next rate is 0 nothing is to be
        # repeated.
        *(-each / rate if rate else np.zeros_like(each) for each in _in_order(momentum, order)),
        *[iterations] * counts,
        scale,
        # Keras counts them in float32 too.
        finite_steps if settings["--precision"] == "mixed_float16" else np.zeros_like(finite_steps),
    ]


def _settings(written: Checkpoint, source: Path) -> dict[str, Any]:
    given = written.metadata.get("settings", {})
    if not metadata.is_known(written.metadata, _NAMES) or not {*_SETTINGS, "--optimizer"} <= given.keys():
        raise _not_of_resnet50(source)
    if given["--optimizer"] != "sgd":
        raise UserError(
            f"the checkpoints in {source} were written with --optimizer {given['--optimizer']}, which "
            "training.torch_imagenet has not; give a run with sgd"
        )
    return {name: given[name] for name in _SETTINGS}


def _next_rate(written: Mapping[str, Any], settings: Mapping[str, Any]) -> float:
    """Return the learning rate of the next step with the ranks and the batch of the last one."""
    position = Position.from_json(written["position"])
    if position.segments:
        batch = position.segments[-1].world_size * position.segments[-1].batch_size
    else:
        batch = written["results"]["global_batch_size"]
    recipe = sgd(
        learning_rate=settings["--learning-rate"],
        warmup_epochs=settings["--warmup-epochs"],
        weight_decay=settings["--weight-decay"],
        momentum=settings["--momentum"],
        epochs=settings["--epochs"],
    )
    return recipe.rate(position.epoch + position.images / written["training_images"], batch)


def _order_of_keras(names: Sequence[str]) -> list[str]:
    """Return the names of torchvision's parameters in Keras's order: that of the layers' distance from the output."""
    ordered: list[str] = []
    for name in names:
        block, found, _ = name.partition("downsample.0.")
        # A shortcut's convolution is as far from the output as the last one beside it.
        ordered.insert(ordered.index(f"{block}bn3.weight") if found else len(ordered), name)
    return ordered


def _in_order(arrays: Sequence[NDArray[Any]], order: Sequence[int]) -> list[NDArray[Any]]:
    """Return arrays in PyTorch's order and layouts: Keras has a layer's outputs in the last dimension."""
    placed = dict(zip(order, arrays, strict=True))
    return [_turned(placed[place]) for place in range(len(order))]


def _turned(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array.transpose((3, 2, 0, 1)) if array.ndim == 4 else array.T)


def _not_of_resnet50(source: Path) -> UserError:
    return UserError(
        f"the checkpoints in {source} are not those of the ResNet-50 of this version's training.resnet50; give the "
        "'--output-dir' of such a run"
    )


if __name__ == "__main__":
    sys.exit(command_line.exit_code(main))
