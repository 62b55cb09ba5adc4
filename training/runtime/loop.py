"""Epochs and steps between two starts of a run."""

import time
from collections.abc import Iterator
from typing import Any

from . import curve, elastic, ranks, watchdog
from .checkpoint_writer import CheckpointWriter
from .distributed import assign_flat, average, barrier, flat, say
from .every import Timer
from .lines import Lines
from .loss_sum import LossSum
from .position import Position
from .progress import Exchanged, Progress
from .steps import Steps
from .stop_request import Stopped, StopRequest
from .task import Evaluation, StepInput, Task
from .throughput import speeds
from .wall_clock import WallClock

# Steps between two exchanges of progress: a few numbers of each rank.
_EXCHANGE_STEPS = 10


class Loop:
    """Trains a task from a position to its end, with the current ranks."""

    def __init__(
        self, task: Task, stop: StopRequest, writer: CheckpointWriter, written: dict[str, Any], began: float
    ) -> None:
        """Train nothing yet.

        Args:
            task: Task of the current ranks.
            stop: The stop request of this rank.
            writer: Writer of the checkpoints.
            written: The metadata of the checkpoint that the run resumes from; empty without one.
            began: When this start began, on `time.monotonic`.
        """
        self.position = Position.from_json(written["position"]) if written else Position()
        self.outcome: dict[str, Any] = written.get("results", {})
        self._task, self._plan, self._stop, self._writer = task, task.plan, stop, writer
        self._steps = Steps(task.plan, task.train_step)
        self._clock = WallClock(began, self.outcome)
        self._seconds_before: float = self.outcome.get("training_seconds", 0.0)
        self._epoch_losses = LossSum(written.get("epoch_losses"))
        self._checkpoints, self._evaluations = Timer(self._plan.checkpoint_every), Timer(self._plan.evaluate_every)
        self._save_at_end = self._evaluate_at_end = False
        self._progress = Progress(self._steps, stop, (self._checkpoints, self._evaluations))
        self._lines = Lines(task, self._steps)

    def train(self, check_hosts: elastic.CheckHosts) -> dict[str, Any]:
        """Train the remaining epochs and return the content of results.json.

        Raises:
            Stopped: A rank got a stop request, and the state is saved.
            UserError: The run has diverged, or its data are damaged.
        """
        if self.position.epoch < self._plan.epochs:
            self._warn()
        while self.position.epoch < self._plan.epochs:
            self._train_epoch(check_hosts)
            self._finish_epoch(check_hosts)
        return self.outcome

    def _warn(self) -> None:
        """Warn of checkpoints and evaluations for which the run is too short."""
        plan = self._plan
        steps = plan.epochs * max(1, plan.training_images // (plan.batch_size * ranks.size()))
        for option, each, loss in (
            ("--checkpoint-every", plan.checkpoint_every, "saved only at its end: if it is killed, all is lost"),
            ("--evaluate-every", plan.evaluate_every, "tested only at its end"),
        ):
            if each.exceeds(steps=steps, epochs=plan.epochs):
                say(
                    f"warning: '{option}' is {each}, but the run has {plan.epochs} epochs of {steps // plan.epochs} "
                    f"steps, so it is {loss}; give a shorter one"
                )

    # -------------------------------------------------------------------------------------------------------- steps

    def _train_epoch(self, check_hosts: elastic.CheckHosts) -> None:
        self._batches = _Batches(self._task.batches(self.position))
        self._steps.restart_clock()
        while True:
            watchdog.progress()
            before = time.perf_counter()
            given = self._batches.next()
            if given is None:
                break
            waited = time.perf_counter() - before
            self._task.optimizer.learning_rate = self._task.rate(self.position)
            self._steps.start(given, waited)
            self.position = self.position.after_step(ranks.size(), self._plan.batch_size)
            self._after_step(check_hosts)
        self._exchange()

    def _after_step(self, check_hosts: elastic.CheckHosts) -> None:
        """Save and evaluate where that is due; after the last step of an epoch, its end does."""
        step = self.position.step
        save, evaluate = (each.after_step(step) for each in (self._plan.checkpoint_every, self._plan.evaluate_every))
        if not (save or evaluate or step == 1 or step % _EXCHANGE_STEPS == 0):
            return
        save_due, evaluate_due = self._exchange().due
        save, evaluate = save or save_due, evaluate or evaluate_due
        if (save or evaluate) and self._batches.ended:
            # Otherwise the same network would be evaluated twice, and written twice.
            self._save_at_end, self._evaluate_at_end = save, evaluate
            return
        if evaluate:
            self._evaluate_within_epoch()
        if save:
            self._save()
            check_hosts()
        self._steps.restart_clock()

    def _exchange(self) -> Exchanged:
        """Learn of all ranks' progress, and end the run if any rank got a stop request."""
        if self._writer.failed:
            self._checkpoints.retry()
        exchanged = self._progress.exchange()
        self._epoch_losses.extend(exchanged.losses.names, exchanged.finite_losses.vector)
        self._clock.add(exchanged.losses.weight * self._plan.batch_size)
        if self.position.step == 1 and exchanged.losses.weight:
            self._task.check_first_losses(exchanged.losses.means)
        self._lines.after_steps(self.position, exchanged)
        if exchanged.stop:
            self._end()
        self._steps.restart_clock()
        return exchanged

    def _end(self) -> None:
        self._save()
        watchdog.progress()
        saved = self._writer.wait()
        # The launcher ends the others when the first rank leaves; rank zero must have written by then.
        barrier()
        if elastic.active() and not self._stop.received:
            # The other ranks continue without those that leave: Horovod reports it in the next step.
            return
        here = "here" if saved else "the checkpoint before, because this one could not be written"
        say(f"stopped on request after step {self.position.step}; the same command resumes from {here}")
        raise Stopped

    # --------------------------------------------------------------------------------------------------- evaluations

    def _finish_epoch(self, check_hosts: elastic.CheckHosts) -> None:
        """Evaluate and save where that is due, and in any case after the last epoch."""
        # Each rank has the statistics of its images; evaluated is the same network that is saved.
        if self._task.statistics:
            average(self._task.statistics)
        self.position = self.position.after_epoch()
        epoch, is_last = self.position.epoch, self.position.epoch == self._plan.epochs
        evaluate = is_last or self._evaluate_at_end or self._plan.evaluate_every.after_epoch(epoch)
        self._note(self._task.evaluate() if evaluate else None)
        self._epoch_losses = LossSum()
        save = is_last or self._save_at_end or self._plan.checkpoint_every.after_epoch(epoch)
        self._save_at_end = self._evaluate_at_end = False
        if save:
            self._save()
        if not is_last:
            self._exchange()
            if save:
                check_hosts()

    def _evaluate_within_epoch(self) -> None:
        """Evaluate the network with the mean of all ranks' statistics, and give each rank its own again.

        So neither evaluations nor their minutes change what a run learns.
        """
        statistics = self._task.statistics
        own = flat(statistics) if statistics else None
        if own is not None:
            average(statistics)
        evaluation = self._task.evaluate()
        if own is not None:
            assign_flat(statistics, own)
        self._note(evaluation)

    def _note(self, evaluation: Evaluation | None) -> None:
        """Add to the results, to their history, and print a line."""
        losses = self._epoch_losses.means if self._epoch_losses.weight else {}
        epoch = self.position.epoch + self.position.images / self._plan.training_images
        point = curve.point(
            round(epoch, 4) if self.position.segments else self.position.epoch,
            ranks.size(),
            loss={"training": sum(losses.values()), **(losses if len(losses) > 1 else {})} if losses else {},
            accuracy=evaluation.accuracy if evaluation else {},
        )
        found = evaluation.results if evaluation else {}
        self.outcome = {
            # Twice: they come first in the file, and replace those of an evaluation before.
            **found,
            **self.outcome,
            **found,
            **self._figures(),
            "history": [*self.outcome.get("history", []), point],
        }
        if evaluation:
            self._evaluations.restart()
        self._lines.after_epoch(self.position, losses, evaluation, self.outcome)

    def _figures(self) -> dict[str, Any]:
        return {
            **self._speed(),
            **self._times(),
            "steps": self.position.step,
            "epochs": self.position.epoch,
            "world_size": ranks.size(),
            "global_batch_size": self._plan.batch_size * ranks.size(),
            **self._task.figures(),
            "versions": dict(self._task.versions()),
        }

    def _speed(self) -> dict[str, Any]:
        throughput = self._steps.throughput
        if "images_per_second" in self.outcome and not throughput.steps:
            # A start that only evaluates keeps the speed of the one before, if that has ended an epoch.
            return {}
        # Each rank measures itself. The rank that waits longest for its images delays the others.
        figures = ranks.current().gather(throughput.figures(), "figures")
        waits = [each.pop("data_wait_share") for each in figures]
        return {**speeds(throughput.images_per_second), **figures[0], "data_wait_share_per_rank": waits}

    def _times(self) -> dict[str, float]:
        seconds = round(self._seconds_before + self._steps.throughput.seconds, 3)
        return {"training_seconds": seconds, **self._clock.figures()}

    # ------------------------------------------------------------------------------------------------- checkpoints

    def _save(self) -> None:
        """Begin to write a checkpoint; the steps before it must have been exchanged."""
        watchdog.progress()
        self.outcome = {**self.outcome, **self._times()}
        metadata = {
            "settings": dict(self._task.settings),
            "position": self.position.to_json(),
            "results": self.outcome,
            "epoch_losses": self._epoch_losses.to_json(),
            **self._task.metadata(),
        }
        self._writer.save(self._task.variables, self.position.step, metadata, per_rank=self._task.statistics)
        self._checkpoints.restart()
        self._steps.restart_clock()


class _Batches:
    """Batches of which one may be fetched early, to learn whether there is one."""

    def __init__(self, batches: Iterator[StepInput]) -> None:
        self._batches = batches
        self._early: list[StepInput | None] = []

    def next(self) -> StepInput | None:
        """Return the next batch; None after the last."""
        return self._early.pop() if self._early else next(self._batches, None)

    @property
    def ended(self) -> bool:
        """Whether there is no other; the same on every rank."""
        if not self._early:
            self._early.append(next(self._batches, None))
        return self._early[0] is None
