"""The steps of a rank: each starts before the result of the one before is read."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import UserError
from .loss_sum import LossSum
from .task import Plan, StepInput, TrainStep
from .throughput import Throughput

# A result that was there needs less time than this to be read.
_READ_SECONDS = 0.001


@dataclass(frozen=True, kw_only=True, slots=True)
class _InFlight:
    """A step that has started."""

    losses: Mapping[str, Any]
    changed: Any
    share: float
    started: float
    """When the call had returned: a GPU computes on."""
    waited: float
    """Seconds that passed before it, without its images."""


class Steps:
    """Starts a step before it reads the result of the one before, so that a GPU always has one to compute.

    Attributes:
        throughput: Throughput of this rank.
        losses: Losses of all steps since the last `take_losses`.
        finite_losses: The finite ones of them: a bad step changes no weight, and its loss would make that of the epoch
            `nan`.
        bad: Steps in a row, up to the last that was read, whose gradients were not finite.
    """

    def __init__(self, plan: Plan, train_step: TrainStep) -> None:
        self.throughput = Throughput(plan.warm_up_steps)
        self.losses, self.finite_losses = LossSum(), LossSum()
        self.bad = 0
        self._plan, self._train_step = plan, train_step
        self._in_flight: _InFlight | None = None
        self.restart_clock()

    def restart_clock(self) -> None:
        """Count the time until now in no step."""
        self._ended = time.perf_counter()

    def start(self, given: StepInput, waited: float) -> None:
        """Start a step, then read the result of the one before.

        Args:
            given: This rank's part of the step.
            waited: Seconds of the wait for it.
        """
        losses, changed = self._train_step(*given.tensors)
        started = time.perf_counter()
        was_idle = self.finish()
        # The device did not wait while it computed the step before.
        waited = waited if was_idle else 0.0
        self._in_flight = _InFlight(losses=losses, changed=changed, share=given.share, started=started, waited=waited)

    def finish(self) -> bool:
        """Read the result of the step in flight, and return whether it was there.

        Raises:
            UserError: The run has diverged; on every rank after the same step.
        """
        step, self._in_flight = self._in_flight, None
        if step is None:
            return True
        before = time.perf_counter()
        losses, changed = {name: float(loss) for name, loss in step.losses.items()}, bool(step.changed)
        now = time.perf_counter()
        was_there = now - before < _READ_SECONDS
        ended = max(step.started, self._ended) if was_there else now
        images = round(step.share * self._plan.batch_size)
        self.throughput.step(images, ended - self._ended, step.waited)
        self._ended = ended
        self.losses.add(losses, step.share)
        finite = all(map(math.isfinite, losses.values()))
        self.finite_losses.add(losses if finite else dict.fromkeys(losses, 0.0), step.share if finite else 0.0)
        self._check(changed)
        return was_there

    def take_losses(self) -> tuple[LossSum, LossSum]:
        """Return `losses` and `finite_losses`, and start new ones."""
        taken = self.losses, self.finite_losses
        self.losses, self.finite_losses = LossSum(), LossSum()
        return taken

    def _check(self, changed: bool) -> None:
        # The same on every rank, so all of them stop together.
        self.bad = 0 if changed else self.bad + 1
        if self.bad == self._plan.bad_steps:
            which = "last step" if self.bad == 1 else f"last {self.bad} steps"
            raise UserError(
                f"the gradients of the {which} were not finite; the newest checkpoint in "
                f"{self._plan.output} is good: lower '--learning-rate' or raise '--warmup-epochs', with another "
                "'--output-dir', or check the images"
            )
