"""One step: from a batch to changed weights."""

from collections.abc import Callable, Mapping

import torch
from torch.nn.parallel import DistributedDataParallel

from training.imagenet.crops_and_colors import DEVIATION, MEAN
from training.runtime import ranks
from training.runtime.task import TrainStep
from training.torch_imagenet.torch_network import Network

Forward = Callable[[torch.Tensor], torch.Tensor]


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


def forward_of(network: Network, device: torch.device, *, deterministic: bool, compiled: bool) -> Forward:
    """Return the forward pass whose backward pass averages the gradients of all ranks.

    Args:
        network: Of this rank.
        device: Of the network.
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


def make_train_step(network: Network, forward: Forward, *, precision: str, label_smoothing: float) -> TrainStep:
    """Return a step that minimizes the loss; every rank must call it with a batch of the same size.

    Args:
        network: Of this rank.
        forward: From `forward_of`.
        precision: `mixed_float16` or `float32`.
        label_smoothing: Share of a label that is spread over all classes.
    """
    weights, statistics = list(network.model.parameters()), network.moving_statistics
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=label_smoothing)

    def step(
        images: torch.Tensor, labels: torch.Tensor, flips: torch.Tensor, seed: int
    ) -> tuple[Mapping[str, torch.Tensor], bool]:
        # Of the step, so that a resumed run drops the same activations.
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
        # The mean over the ranks: what is not finite on one is not finite on any, so all skip the step.
        finite = bool(torch.isfinite(torch.nn.utils.get_total_norm(gradients)))
        if finite:
            network.sgd.step()
        else:
            # The forward pass has moved the statistics already, perhaps to infinity.
            torch._foreach_copy_(statistics, before)
        network.note_step(finite)
        return {"training": loss.detach()}, finite

    return step
