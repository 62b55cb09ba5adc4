"""Run training.torch_imagenet with a network of one convolution, disturbed as `disturbances` says."""

import sys

import torch

from tests.faults.disturbances import disturb, leave_out_pictures
from training.runtime import torch_ranks
from training.runtime.distributed import run
from training.torch_imagenet import models
from training.torch_imagenet.__main__ import main as program
from training.torch_imagenet.image_batches import ImageBatches
from training.torch_imagenet.models import Model


def small_network(num_classes: int) -> torch.nn.Module:
    # A checkpoint has the size of that of the small network of ResNet-50's runs.
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 12, 7, stride=2, bias=False),
        torch.nn.BatchNorm2d(12),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(12, num_classes),
    )


def main(*, forked: bool = False) -> int:
    """Train as the program does, and return its exit code."""
    if forked:
        leave_out_pictures()
    models.MODELS["resnet50"] = Model(small_network, 32)
    disturb(ImageBatches)
    with torch_ranks.connected():
        return run(program)


if __name__ == "__main__":
    sys.exit(main())
