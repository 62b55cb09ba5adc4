"""The lines that a run prints, and the points of TensorBoard's curves that belong to them."""

import math
import time
from typing import Any

from .distributed import say
from .loss_sum import LossSum
from .position import Position
from .progress import Exchanged
from .steps import Steps
from .task import Evaluation, LossCurves, Task
from .tensorboard_curves import Curves
from .throughput import rate

_SECONDS_BETWEEN_LINES = 10.0


class Lines:
    """Prints a line for some steps, and one for each epoch and evaluation."""

    def __init__(self, task: Task, steps: Steps) -> None:
        """Print nothing yet."""
        self._task, self._steps, self._plan = task, steps, task.plan
        self._curves = Curves(task.plan.output)
        self._losses = LossSum()
        self._printed_at = -math.inf

    def after_steps(self, position: Position, exchanged: Exchanged) -> None:
        """Print a line, unless the last one is recent."""
        self._losses.extend(exchanged.losses.names, exchanged.losses.vector)
        is_due = time.monotonic() - self._printed_at > _SECONDS_BETWEEN_LINES
        if not (self._plan.detailed and is_due and exchanged.losses.weight):
            return
        losses, learning_rate = self._losses.means, self._task.rate(position)
        self._losses, self._printed_at = LossSum(), time.monotonic()
        values = loss_curves(losses, self._task.loss_curves)
        values |= {"learning rate": learning_rate, **loss_scale(self._task.optimizer)}
        sentence = (
            f"epoch {position.epoch + 1}/{self._plan.epochs}, step {position.step}: {loss_words(losses)}, "
            f"learning rate {learning_rate:.4g}"
        )
        speed, waited = exchanged.speeds.sum(), exchanged.waits.max()
        if self._steps.throughput.warming_up:
            # No speed of the run: it is not in the curves.
            sentence += f", {rate(speed)} images/s while it compiles and warms up"
        else:
            values |= {"images per second": speed, "images per second of the slowest rank": exchanged.speeds.min()}
            values["data wait share"] = waited
            sentence += f", {rate(speed)} images/s, {waited:.0%} of the time waiting for images"
        if self._steps.bad:
            sentence += f", {self._steps.bad} steps in a row whose gradients are not finite"
        say(sentence)
        self._curves.add(position.step, values)

    def after_epoch(
        self, position: Position, losses: dict[str, float], evaluation: Evaluation | None, figures: dict[str, Any]
    ) -> None:
        """Print the line of a finished epoch, or of an evaluation within one."""
        milliseconds = figures["step_milliseconds"]
        values = {f"step milliseconds {name}": value for name, value in milliseconds.items()}
        values["learning rate"] = self._task.rate(position)
        values |= {f"epoch {name}": value for name, value in loss_curves(losses, self._task.loss_curves).items()}
        words = [loss_words(losses)] if losses else []
        if evaluation:
            values |= evaluation_curves(evaluation)
            words.append(evaluation.sentence)
        # A run that ends before other steps has no steady speed.
        which = " with compilation and warm-up" if self._steps.throughput.warming_up else ""
        wall = rate(figures["wall_images_per_second"])
        words.append(f"{rate(figures['images_per_second'])} images/s{which} ({wall} by wall clock)")
        if self._plan.detailed:
            words.append(f"half of the steps in {milliseconds['p50']:.0f} ms and 99 % in {milliseconds['p99']:.0f} ms")
        # A finished epoch has the position of the next.
        within = f", step {position.step}" if position.segments else ""
        say(f"epoch {position.epoch + bool(within)}/{self._plan.epochs}{within}: {', '.join(words)}")
        self._curves.add(position.step, values)


def loss_words(losses: dict[str, float]) -> str:
    """Return the sum of the losses, and each where there are several."""
    parts = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    return f"loss {sum(losses.values()):.4f}" + (f" ({parts})" if len(losses) > 1 else "")


def loss_curves(losses: dict[str, float], names: LossCurves) -> dict[str, float]:
    """Return the points of the sum, and of each where there are several."""
    parts = {f"{names.prefix}{name}": loss for name, loss in losses.items()}
    return {names.total: sum(losses.values()), **(parts if len(losses) > 1 else {})}


def evaluation_curves(evaluation: Evaluation) -> dict[str, float]:
    """Return the points of an evaluation."""
    if evaluation.curves is not None:
        return dict(evaluation.curves)
    return {f"{name} accuracy": value for name, value in evaluation.accuracy.items()}


def loss_scale(optimizer: Any) -> dict[str, float]:
    """Return the point of the loss scale, where the optimizer has one."""
    scale = getattr(optimizer, "loss_scale", None)
    return {} if scale is None else {"loss scale": float(scale)}
