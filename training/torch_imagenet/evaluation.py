"""The accuracy on the validation images."""

from collections.abc import Iterable

import numpy as np
import torch

from training.imagenet import split_accuracy
from training.imagenet.split_accuracy import Accuracy
from training.runtime import watchdog
from training.torch_imagenet.image_batches import Batch
from training.torch_imagenet.torch_step import to_float


@torch.no_grad()
def evaluate(model: torch.nn.Module, batches: Iterable[Batch], *, precision: str) -> Accuracy:
    """Evaluate the batches of all ranks.

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
    return split_accuracy.of_ranks(counts)
