"""The networks, as torchvision has them, ready to be trained from nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torchvision

from training.torch_imagenet.same_padding import pad_as_tensorflow


@dataclass(frozen=True, slots=True)
class Model:
    """A network that `--model` names."""

    make: Callable[..., torch.nn.Module]
    """Returns it for a number of classes, `num_classes`."""
    image_size: int
    """Pixels of each side of the images with which its authors trained it."""


def _resnet50_same(num_classes: int) -> torch.nn.Module:
    """Return ResNet-50 as training.resnet50 has it."""
    return pad_as_tensorflow(torchvision.models.resnet50(num_classes=num_classes))


#: By the names of `--model`: https://arxiv.org/abs/1512.03385, and https://arxiv.org/abs/1905.11946.
MODELS = {
    "resnet50": Model(torchvision.models.resnet50, 224),
    "resnet50-same": Model(_resnet50_same, 224),
    "efficientnet-b7": Model(torchvision.models.efficientnet_b7, 600),
}


def build(name: str, classes: int) -> torch.nn.Module:
    """Return a network whose memory is in the order of channels-last.

    Args:
        name: One of `MODELS`.
        classes: Outputs.
    """
    network = MODELS[name].make(num_classes=classes)
    (last,) = (each for each in network.modules() if isinstance(each, torch.nn.Linear))
    # Small weights: the first outputs are almost equal, so the first loss is ln(classes).
    torch.nn.init.normal_(last.weight, std=0.01)
    torch.nn.init.zeros_(last.bias)
    # The layers' own order of memory: tensor cores would need a copy of every image otherwise.
    channels_last: torch.nn.Module = network.to(memory_format=torch.channels_last)
    return channels_last
