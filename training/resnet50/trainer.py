"""Epochs and steps: what happens between two starts of a run."""

import math
import time
from collections.abc import Sequence
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.resnet50.evaluation import Accuracy, evaluate, make_evaluation_step
from training.resnet50.position import Position
from training.resnet50.train_step import make_train_step
from training.resnet50.training_job import Job
from training.runtime import curve, elastic, results, watchdog
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.distributed import average, barrier, say
from training.runtime.errors import UserError
from training.runtime.stop_request import Stopped, StopRequest

# Steps between two exchanges of progress: five numbers of each rank.
_EXCHANGE_STEPS = 10

_SECONDS_BETWEEN_LINES = 10.0

# Steps that compile, autotune and fill caches; they count in no speed.
_WARM_UP_STEPS = 50

# A loss scale of 2^15 is halved to 1 in 15 steps: gradients that are not finite then never will be.
_BAD_STEPS = 25

# How far the first loss may be from ln(classes), the loss of a network that has learned nothing.
_FIRST_LOSS_DISTANCE = 1.0


class Trainer:
    """Trains a job from a position to its end, with the current ranks."""

    def __init__(
        self, job: Job, stop: StopRequest, writer: CheckpointWriter, position: Position, written: dict[str, Any]
    ) -> None:
        """Compile the steps.

        Args:
            job: What is trained.
            stop: The stop request of this rank.
            writer: Of the checkpoints.
            position: Where the run is.
            written: The metadata of the checkpoint that the run resumes from; empty without one.
        """
        self.position = position
        self.outcome: dict[str, Any] = written.get("results", {})
        self._job, self._stop, self._writer = job, stop, writer
        self._train_step = make_train_step(job.network, job.step_options)
        self._evaluation_step = make_evaluation_step(job.network.model)
        self._throughput = results.Throughput(_WARM_UP_STEPS)
        self._seconds_before: float = self.outcome.get("training_seconds", 0.0)
        self._curves = results.Curves(job.settings.output_dir)
        # Sum of the finite losses, and their number: of all ranks in the starts before, and of this rank in this start.
        self._epoch_loss_before = np.array(written.get("epoch_loss", (0, 0)), np.float64)
        self._epoch_loss = np.zeros(2)
        self._losses: list[float] = []
        self._since_line = np.zeros(2)
        self._bad_steps = 0
        self._step_ended = self._printed_at = -math.inf

    def train(self, check_hosts: elastic.CheckHosts) -> dict[str, Any]:
        """Train the remaining epochs and return the content of results.json.

        Raises:
            Stopped: A rank got a stop request, and the state is saved.
            UserError: The run has diverged, or its data are damaged.
        """
        while self.position.epoch < self._job.settings.epochs:
            self._train_epoch(check_hosts)
            self._finish_epoch()
            if self.position.epoch < self._job.settings.epochs:
                self._exchange_progress()
                check_hosts()
        return self.outcome

    # -------------------------------------------------------------------------------------------------------- steps

    def _train_epoch(self, check_hosts: elastic.CheckHosts) -> None:
        batches = iter(self._job.data.training_batches(self.position))
        self._step_ended = time.perf_counter()
        while True:
            watchdog.progress()
            before = time.perf_counter()
            batch = next(batches, None)
            if batch is None:
                break
            self._step(batch, waited=time.perf_counter() - before)
            if self.position.step % self._job.settings.checkpoint_steps == 0:
                self._save()
                check_hosts()
                self._step_ended = time.perf_counter()
            if self.position.step == 1 or self.position.step % _EXCHANGE_STEPS == 0:
                self._exchange_progress()
        self._exchange_progress()

    def _step(self, batch: Sequence[tf.Tensor], waited: float) -> None:
        images, labels, flips, _ = batch
        self._job.network.optimizer.learning_rate = self._rate()
        loss, changed = self._train_step(images, labels, flips)
        # As a number, so that the clock is not read before the step has ended.
        self._losses.append(float(loss))
        # A bad step changes no weight, and its loss would make that of the epoch `nan`.
        if math.isfinite(self._losses[-1]):
            self._epoch_loss += (self._losses[-1], 1)
        now = time.perf_counter()
        self._throughput.step(self._job.settings.batch_size, now - self._step_ended, waited)
        self._step_ended = now
        self.position = self.position.after_step(hvd.size(), self._job.settings.batch_size)
        # The same on every rank, so all of them stop together.
        self._bad_steps = 0 if bool(changed) else self._bad_steps + 1
        if self._bad_steps == _BAD_STEPS:
            raise UserError(
                f"the gradients of the last {_BAD_STEPS} steps were not finite, and they changed no weight; the newest "
                f"checkpoint in {self._job.settings.output_dir} is good: lower '--learning-rate' or raise "
                "'--warmup-epochs', with another '--output-dir', or check the images"
            )

    def _rate(self) -> float:
        epoch = self.position.epoch + self.position.images / self._job.data.training_images
        return self._job.recipe.rate(epoch, self._job.global_batch)

    # ----------------------------------------------------------------------------------------------------- progress

    def _exchange_progress(self) -> None:
        """Print the loss of all ranks since the last line, and end the run if any rank got a stop request."""
        own = [sum(self._losses), len(self._losses), self._stop.received, *self._throughput.recent(_EXCHANGE_STEPS)]
        # Horovod: a stop request of one rank is enough, and all ranks learn of it after the same step.
        progress = hvd.allgather(np.array([own], np.float64), name="progress").numpy()
        loss_sum, losses, stops = progress[:, :3].sum(axis=0)
        self._losses = []
        self._since_line += (loss_sum, losses)
        if losses and self.position.step == 1:
            self._check_first_loss(loss_sum / losses)
        if losses and time.monotonic() - self._printed_at > _SECONDS_BETWEEN_LINES:
            self._print(self._since_line[0] / self._since_line[1], speeds=progress[:, 3], waits=progress[:, 4])
            self._since_line, self._printed_at = np.zeros(2), time.monotonic()
        if stops:
            self._end()
        self._step_ended = time.perf_counter()

    def _end(self) -> None:
        self._save()
        watchdog.progress()
        saved = self._writer.wait()
        # Horovod: mpirun ends the others when the first rank leaves; rank zero must have written by then.
        barrier()
        if elastic.active() and not self._stop.received:
            # The other ranks continue without those that leave: Horovod reports it in the next step.
            return
        here = "here" if saved else "the checkpoint before, because this one could not be written"
        say(f"stopped on request after step {self.position.step}; the same command resumes from {here}")
        raise Stopped

    def _print(self, loss: float, speeds: NDArray[np.float64], waits: NDArray[np.float64]) -> None:
        scale = float(self._job.network.optimizer.loss_scale)
        values = {"loss": loss, "learning rate": self._rate(), "loss scale": scale}
        sentence = (
            f"epoch {self.position.epoch + 1}/{self._job.settings.epochs}, step {self.position.step}: loss {loss:.4f}, "
            f"learning rate {self._rate():.4g}"
        )
        # The first steps compile and have no speed.
        if speeds.all():
            values |= {"images per second": speeds.sum(), "images per second of the slowest rank": speeds.min()}
            values["data wait share"] = waits.max()
            sentence += f", {speeds.sum():,.0f} images/s, {waits.max():.0%} of the time waiting for images"
        say(sentence)
        self._curves.add(self.position.step, values)

    def _check_first_loss(self, loss: float) -> None:
        expected = math.log(self._job.settings.classes)
        if not abs(loss - expected) <= _FIRST_LOSS_DISTANCE:
            raise UserError(
                f"the first loss is {loss:.2f}, but that of {self._job.settings.classes} classes is about "
                f"{expected:.2f} before anything is learned; check the images, the labels and '--classes'"
            )

    # ------------------------------------------------------------------------------------------------ end of epochs

    def _finish_epoch(self) -> None:
        """Evaluate the network and save it."""
        # Horovod: each rank has the statistics of its images; evaluated is the same network that is saved.
        average(self._job.network.statistics)
        accuracy = evaluate(self._evaluation_step, self._job.data.validation_batches())
        self.position = self.position.after_epoch()
        self.outcome = {**self._figures(accuracy), "history": self._history(accuracy)}
        self._epoch_loss_before, self._epoch_loss = np.zeros(2), np.zeros(2)
        milliseconds = self.outcome["step_milliseconds"]
        curves = {f"step milliseconds {name}": value for name, value in milliseconds.items()}
        curves |= {"top-1 accuracy": accuracy.top1, "top-5 accuracy": accuracy.top5}
        self._curves.add(self.position.step, curves)
        say(
            f"epoch {self.position.epoch}/{self._job.settings.epochs}: top-1 {accuracy.top1:.4f}, top-5 "
            f"{accuracy.top5:.4f} of {accuracy.images:,} images, {self.outcome['images_per_second']:,.0f} images/s, "
            f"half of the steps in {milliseconds['p50']:.0f} ms and 99 % in {milliseconds['p99']:.0f} ms"
        )
        self._save()

    def _figures(self, accuracy: Accuracy) -> dict[str, Any]:
        throughput, data = self._throughput, self._job.data
        # Horovod: each rank measures itself. The rank that waits longest for its images delays the others.
        figures = hvd.allgather_object(throughput.figures(), name="figures")
        waits = [each.pop("data_wait_share") for each in figures]
        return {
            "accuracy": accuracy.top1,
            "top5_accuracy": accuracy.top5,
            "evaluated_images": accuracy.images,
            **results.speeds(throughput.images_per_second),
            **figures[0],
            "data_wait_share_per_rank": waits,
            "damaged_records": data.damaged + sum(len(numbers) for numbers in data.skipped().values()),
            "training_seconds": self._seconds,
            "steps": self.position.step,
            "epochs": self.position.epoch,
            "world_size": hvd.size(),
            "global_batch_size": self._job.global_batch,
            "device": self._job.device,
            "precision": self._job.settings.precision,
            "versions": results.versions(),
        }

    def _history(self, accuracy: Accuracy) -> list[dict[str, Any]]:
        loss_sum, losses = self._epoch_loss_of_all_ranks()
        point = curve.point(
            self.position.epoch,
            hvd.size(),
            # None in the epoch of a checkpoint without its losses, or where none was finite.
            loss={"training": loss_sum / losses} if losses else {},
            accuracy={"top-1": accuracy.top1, "top-5": accuracy.top5},
        )
        return [*self.outcome.get("history", []), point]

    def _epoch_loss_of_all_ranks(self) -> tuple[float, float]:
        # Horovod: each rank has the losses of its images.
        total = self._epoch_loss_before + hvd.allreduce(self._epoch_loss, op=hvd.Sum, name="epoch loss").numpy()
        return float(total[0]), float(total[1])

    def _save(self) -> None:
        job = self._job
        watchdog.progress()
        metadata = {
            "settings": job.resume_settings,
            "position": self.position.to_json(),
            "results": {**self.outcome, "training_seconds": self._seconds},
            "epoch_loss": self._epoch_loss_of_all_ranks(),
            "skipped": job.data.skipped(),
            "training_images": job.data.training_images,
            "dataset": dict(job.data.fingerprint),
        }
        self._writer.save(job.network.variables, self.position.step, metadata, per_rank=job.network.statistics)

    @property
    def _seconds(self) -> float:
        return round(self._seconds_before + self._throughput.seconds, 3)
