"""The numbers that a script logs: losses of steps with their means over an epoch, and figures of epochs."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import torch

from ..runtime import ranks

Number: TypeAlias = torch.Tensor | float


class LoggedValues:
    """The numbers of one rank, and their means over all."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._losses: dict[str, Number] = {}
        self._sums: dict[str, Number] = {}
        self._steps: dict[str, int] = {}
        self._metrics: dict[str, float] = {}

    def begin_step(self) -> None:
        """Forget the losses of the step before."""
        self._losses = {}

    def add_losses(self, values: Mapping[str, Number]) -> None:
        """Add losses of the present step."""
        # On the GPU, without a copy: the step would wait for it.
        self._losses.update({name: _detached(value) for name, value in values.items()})

    def add_metrics(self, values: Mapping[str, Number]) -> None:
        """Add figures of the epoch."""
        self._metrics.update({name: float(value) for name, value in values.items()})

    def end_step(self) -> None:
        """Add the losses of the step to those of the epoch."""
        for name, loss in self._losses.items():
            self._sums[name] = self._sums.get(name, 0.0) + loss
            self._steps[name] = self._steps.get(name, 0) + 1

    def losses(self) -> dict[str, float]:
        """Return the means over all ranks in the present step; every rank must call it, and may wait for its GPU."""
        return _means_over_ranks({name: float(loss) for name, loss in self._losses.items()})

    def end_epoch(self) -> dict[str, float]:
        """Return the means of the epoch over all ranks, and begin the next; every rank must call it."""
        means = {name: float(total) / self._steps[name] for name, total in self._sums.items()}
        found = _means_over_ranks({**means, **self._metrics})
        self._sums, self._steps, self._metrics = {}, {}, {}
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return the sums of the epoch so far."""
        return {
            "sums": {name: torch.as_tensor(value).cpu() for name, value in self._sums.items()},
            "steps": self._steps,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with the sums of an epoch."""
        self._sums, self._steps = dict(state["sums"]), dict(state["steps"])


def _means_over_ranks(own: Mapping[str, float]) -> dict[str, float]:
    gathered = ranks.current().gather(dict(own), "logged values")
    # Scripts often log on rank zero alone: a mean is over the ranks that have the name.
    names = dict.fromkeys(name for each in gathered for name in each)
    return {name: float(np.mean([each[name] for each in gathered if name in each])) for name in names}


def _detached(value: Number) -> Number:
    return value.detach() if isinstance(value, torch.Tensor) else value
