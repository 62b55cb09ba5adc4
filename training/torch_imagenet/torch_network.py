"""A network with its optimizer, and its variables as a checkpoint keeps them."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# As under TensorFlow: of a loss scale that begins at 2^15, doubles after 2,000 finite steps and halves after others.
_FIRST_SCALE, _GROWTH_STEPS = 2.0**15, 2000


class TensorVariable:
    """A tensor as the checkpoints of every framework know it."""

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self.name, self._tensor = name, tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return tuple(self._tensor.shape)

    def numpy(self) -> NDArray[Any]:
        """Return a copy of the values, in the order of the dimensions."""
        return np.array(self._tensor.detach().cpu().numpy(), order="C")

    @torch.no_grad()
    def assign(self, value: NDArray[Any]) -> None:
        """Set the values."""
        self._tensor.copy_(torch.from_numpy(np.ascontiguousarray(value)).reshape(self._tensor.shape))


class Network:
    """The model and its optimizer.

    Attributes:
        model: The module.
        loss_scale: The factor of the loss before the backward pass: float16 would lose small gradients.
        finite_steps: Steps in a row since the scale changed last.
    """

    def __init__(self, model: torch.nn.Module, *, momentum: float, weight_decay: float, scaled: bool) -> None:
        """Make the optimizer, with its momentum: the first step would create it, too late to be restored.

        Args:
            model: On its device.
            momentum: Part of the step before that each step repeats.
            weight_decay: Factor of the L2 term's gradient. Scale and shift of normalization do not decay.
            scaled: Whether the layers compute in float16.
        """
        self.model = model
        self._scaled = scaled
        self.loss_scale = torch.tensor(_FIRST_SCALE if scaled else 1.0)
        self.finite_steps = torch.tensor(0)
        normalized = torch.nn.modules.batchnorm._NormBase
        exempt = [each for module in model.modules() if isinstance(module, normalized) for each in module.parameters()]
        ids = {id(each) for each in exempt}
        decayed = [each for each in model.parameters() if id(each) not in ids]
        groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": exempt, "weight_decay": 0.0}]
        self.sgd = torch.optim.SGD(groups, lr=0.0, momentum=momentum)
        for weight in model.parameters():
            self.sgd.state[weight]["momentum_buffer"] = torch.zeros_like(weight)

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step."""
        return float(self.sgd.param_groups[0]["lr"])

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        for group in self.sgd.param_groups:
            group["lr"] = value

    @property
    def variables(self) -> list[TensorVariable]:
        """All that is the same on every rank: weights, momentum, loss scale, and counts of steps."""
        weights = dict(self.model.named_parameters())
        momentum = {f"{name} momentum": self.sgd.state[each]["momentum_buffer"] for name, each in weights.items()}
        counts = {name: each for name, each in self.model.named_buffers() if not each.is_floating_point()}
        scale = {"loss scale": self.loss_scale, "finite steps": self.finite_steps}
        return [TensorVariable(*each) for each in {**weights, **momentum, **counts, **scale}.items()]

    @property
    def statistics(self) -> list[TensorVariable]:
        """The moving mean and variance of batch normalization, which each rank calculates from its own images."""
        return [TensorVariable(name, each) for name, each in self.model.named_buffers() if each.is_floating_point()]

    @property
    def moving_statistics(self) -> list[torch.Tensor]:
        """The tensors of `statistics`."""
        return [each for each in self.model.buffers() if each.is_floating_point()]

    def note_step(self, finite: bool) -> None:
        """Adapt the loss scale after a step, in place."""
        if not self._scaled:
            return
        self.finite_steps.copy_(self.finite_steps + 1 if finite else torch.tensor(0))
        if not finite:
            self.loss_scale.copy_((self.loss_scale / 2).clamp(min=1.0))
        elif int(self.finite_steps) == _GROWTH_STEPS:
            self.loss_scale.mul_(2)
            self.finite_steps.zero_()
