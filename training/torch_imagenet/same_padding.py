"""TensorFlow's padding for a network of torchvision, so that it computes what the network of training.resnet50 does."""

from typing import Any

import torch
from torch import nn


def pad_as_tensorflow(network: nn.Module) -> nn.Module:
    """Return the network with the padding `same` in its layers with a stride; its weights keep their names.

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
