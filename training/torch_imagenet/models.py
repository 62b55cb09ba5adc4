"""The networks, as torchvision has them, ready to be trained from nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torchvision
from torch import nn


@dataclass(frozen=True, slots=True)
class Model:
    """A network that `--model` names."""

    make: Callable[..., nn.Module]
    """Returns it for a number of classes, `num_classes`."""
    image_size: int
    """Pixels of each side of the images with which its authors trained it."""


def _resnet50_same(num_classes: int) -> nn.Module:
    """Return ResNet-50 as training.resnet50 has it."""
    return pad_as_tensorflow(torchvision.models.resnet50(num_classes=num_classes))


#: By the names of `--model`: https://arxiv.org/abs/1512.03385, and https://arxiv.org/abs/1905.11946.
MODELS = {
    "resnet50": Model(torchvision.models.resnet50, 224),
    "resnet50-same": Model(_resnet50_same, 224),
    "efficientnet-b7": Model(torchvision.models.efficientnet_b7, 600),
}


def build(name: str, classes: int) -> nn.Module:
    """Return a network whose memory is in the order of channels-last.

    Args:
        name: One of `MODELS`.
        classes: Outputs.
    """
    network = MODELS[name].make(num_classes=classes)
    (last,) = (each for each in network.modules() if isinstance(each, nn.Linear))
    # Small weights: the first outputs are almost equal, so the first loss is ln(classes).
    nn.init.normal_(last.weight, std=0.01)
    nn.init.zeros_(last.bias)
    # The layers' own order of memory: tensor cores would need a copy of every image otherwise.
    channels_last: nn.Module = network.to(memory_format=torch.channels_last)
    return channels_last


def pad_as_tensorflow(network: nn.Module) -> nn.Module:
    """Return the network with TensorFlow's padding `same` in its layers with a stride; its weights keep their names.

    PyTorch pads both ends alike. TensorFlow pads the end by one pixel more where the number is odd, so that the windows
    of a stride begin at other pixels ("Notes on padding" in
    https://github.com/tensorflow/tensorflow/blob/v2.11.1/tensorflow/python/ops/nn_ops.py, read 2026-11-23).
    """
    for layer in network.modules():
        # A 1x1 convolution reads the same pixels in both.
        if isinstance(layer, nn.Conv2d | nn.MaxPool2d) and 1 not in (*_both(layer.stride), *_both(layer.kernel_size)):
            layer.padding = (0, 0) if isinstance(layer, nn.Conv2d) else 0
            layer.register_forward_pre_hook(_pad)
    return network


def _pad(layer: Any, given: tuple[torch.Tensor]) -> torch.Tensor:
    """Return the input with its padding: zeros, also for the pooling, whose inputs a ReLU has made 0 or more."""
    images = given[0]
    amounts: list[int] = []
    # The last dimension comes first.
    for dimension in (1, 0):
        size, kernel, stride = images.shape[2 + dimension], _both(layer.kernel_size)[dimension], _both(layer.stride)[0]
        total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        amounts += [total // 2, total - total // 2]
    return nn.functional.pad(images, amounts)


def _both(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value
