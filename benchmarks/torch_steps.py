"""Training steps of ResNet-50 as training.torch_imagenet takes them, without its loop."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from training.imagenet.classifier_settings import ClassifierSettings
from training.records import rank_records
from training.records.epoch_order import Order
from training.runtime import ranks
from training.runtime.cores import data_threads
from training.torch_imagenet import image_batches, models
from training.torch_imagenet.__main__ import forward_of, make_train_step
from training.torch_imagenet.image_batches import Batch, ImageBatches, SyntheticBatches
from training.torch_imagenet.torch_network import Network

CLASSES = 1000

# Of the order that is read: more than a benchmark takes.
_STEPS = 1000


class Steps:
    """The steps of a rank, from noise or from images."""

    def __init__(self, device: torch.device, *, batch: int, image_size: int, data_dir: Path | None) -> None:
        """Make network and input.

        Args:
            device: Device of the rank.
            batch: Images of a rank and step.
            image_size: Pixels of each side.
            data_dir: Folder of the images; None for noise that is on the device already.
        """
        precision = "mixed_float16" if device.type == "cuda" else "float32"
        torch.backends.cudnn.benchmark = True
        model = models.build("resnet50", CLASSES).to(device)
        network = Network(model, momentum=0.875, weight_decay=1 / 32768, scaled=precision == "mixed_float16")
        network.learning_rate = 0.1
        forward = forward_of(network, device, deterministic=False, compiled=False)
        self._step = make_train_step(network, forward, precision=precision, label_smoothing=0.1)
        settings = image_batches.Settings(
            run=ClassifierSettings(synthetic=True, output_dir=Path("unused"), image_size=image_size, classes=CLASSES),
            workers=data_threads(ranks.current().local_size()),
            device=device,
        )
        self._batches = _batches(data_dir, batch, settings)

    def take(self) -> float:
        """Take a step and return its loss, when the device has computed it."""
        images, labels, flips, _ = next(self._batches)
        losses, _ = self._step(images, labels, flips, 0)
        return float(losses["training"])


def _batches(data_dir: Path | None, batch: int, settings: image_batches.Settings) -> Iterator[Batch]:
    if data_dir is None:
        return SyntheticBatches(settings).training(_order(1, batch), 0)
    (records,) = rank_records.open_splits(data_dir, ("train",), classes=CLASSES, skip_damaged=False)
    return ImageBatches(records, settings).training(_order(len(records), batch), 0)


def _order(images: int, batch: int) -> Order:
    """Return steps of images at random: as one pass, so that no processes start in between."""
    numbers = np.random.default_rng(ranks.rank()).integers(images, size=(_STEPS, batch))
    return Order(numbers, np.ones(numbers.shape, np.float32))
