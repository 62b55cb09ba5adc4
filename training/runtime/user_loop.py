"""Save, stop and resume a training loop that belongs to its user, or to the framework that the user calls.

An adapter for a framework gives the state and reports steps and epochs. The rest is as in `loop`:
the lock of the folder, checkpoints, stop requests, the watchdog, lines, curves and results.json.
"""

import base64
import importlib.util
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import checkpoint, curve, elastic, files, metadata, ranks, wall_clock, watchdog
from .checkpoint_writer import CheckpointWriter
from .distributed import barrier, on_rank_zero, say
from .errors import UserError
from .every import Every, Timer
from .lost_launcher import end_with_the_launcher
from .position import Position
from .rank_checkpoint import FOLDER, another_program, check_folder, check_settings
from .run_lock import locked
from .stop_request import Stopped, StopRequest
from .throughput import Throughput, rate, speeds
from .wall_clock import WallClock

if TYPE_CHECKING:
    from .tensorboard_curves import Curves

# Between two exchanges of progress and stop requests: an exchange takes about a millisecond, and a stop has 30 seconds.
_SECONDS_BETWEEN_EXCHANGES = 1.0

_SECONDS_BETWEEN_LINES = 10.0

# The metadata that the loop reads from a checkpoint, besides those of every run.
_NAMES = ("position", "results", "of_ranks", "adapter")

#: Ten minutes are lost at most, and a write takes seconds.
DEFAULT_EVERY = Every(10, "min")


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """The state of a run between two steps.

    Attributes:
        arrays: Arrays that are the same on every rank, by name, in NumPy's own types: weights and optimizer. Those of
            rank zero are written.
        metadata: Other state that is the same on every rank, in JSON's types.
        of_rank: State that only this rank has, such as its random states. Empty in a state that another number of ranks
            has written.
    """

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    of_rank: bytes = b""


class UserLoop:
    """A run whose steps an adapter reports; every rank must call each function.

    Attributes:
        position: Steps and epochs that are done.
        results: Content of results.json so far.
    """

    def __init__(
        self,
        output: Path,
        *,
        settings: Mapping[str, Any],
        batch_size: int,
        epochs: int | None = None,
        checkpoint_every: Every = DEFAULT_EVERY,
        keep_checkpoints: int = 3,
    ) -> None:
        """Write nothing yet.

        Args:
            output: The folder of the run: checkpoints, curves, results.json.
            settings: Values that decide what is learned, in JSON's types: a run resumes only with the same.
            batch_size: Samples per rank and step.
            epochs: Epochs of the run, for its lines. Default: unknown.
            checkpoint_every: A checkpoint also follows a stop request, and the end.
            keep_checkpoints: Checkpoints to keep.
        """
        self.position = Position()
        self.results: dict[str, Any] = {}
        self._output, self._settings, self._every = output, dict(settings), checkpoint_every
        self._batch_size, self._epochs, self._keep = batch_size, epochs, keep_checkpoints
        self._opened = ExitStack()
        self._throughput = Throughput()
        # Steps until the next exchange, and steps at the one before; the same on every rank.
        self._until_exchange, self._steps_before = 1, 0
        self._printed_at = -math.inf
        self._save_due = False

    def begin(self) -> State | None:
        """Take the folder, and return the state of its newest checkpoint; None where it has none.

        Raises:
            UserError: The folder is another run's, or cannot be written, or all of its checkpoints are damaged; on
                every rank.
        """
        if elastic.active():
            raise UserError(
                "the script runs under elastic 'horovodrun', which keeps ranks alive across a loss; start it with "
                "mpirun, or with horovodrun without '--host-discovery-script': its next start resumes exactly"
            )
        watchdog.progress()
        self._stop = StopRequest()
        self._opened.callback(self._stop.end)
        on_rank_zero(lambda: files.make_writable(self._output, option="output"))
        self._opened.enter_context(locked(self._output))
        self._writer = self._opened.enter_context(CheckpointWriter(self._output, keep=self._keep))
        end_with_the_launcher()
        arrays: list[NDArray[Any]] = []
        written = on_rank_zero(lambda: self._read(arrays))
        self.results = dict(written.get("results", {}))
        self._curves, self._timer = _curves(self._output), Timer(self._every)
        self._clock = WallClock(wall_clock.process_start(), self.results)
        found = self._resume(written, ranks.current().broadcast_arrays(arrays)) if written else None
        self.restart_clock()
        return found

    def _read(self, arrays: list[NDArray[Any]]) -> dict[str, Any]:
        """Return the metadata of the newest checkpoint, empty without one, and add its arrays; on rank zero alone."""
        check_folder(self._output, option="output")
        found = checkpoint.newest(self._output / FOLDER)
        if found is None:
            return {}
        if not metadata.is_known(found.metadata, _NAMES) or len(found.metadata["names"]) != len(found.arrays):
            raise another_program(self._output)
        check_settings(self._output, self._settings, found.metadata["settings"])
        arrays.extend(found.arrays)
        return found.metadata

    def _resume(self, written: Mapping[str, Any], arrays: list[NDArray[Any]]) -> State:
        self.position, of_ranks = Position.from_json(written["position"]), written["of_ranks"]
        if self.position.epoch == self._epochs:
            say(f"nothing to do: {self._output} holds this run, finished")
        else:
            self._say_where(written["world_size"])
        of_rank = base64.b64decode(of_ranks[ranks.rank()]) if len(of_ranks) == ranks.size() else b""
        named = dict(zip(written["names"], arrays, strict=True))
        return State(arrays=named, metadata=written["adapter"], of_rank=of_rank)

    def _say_where(self, written_by: int) -> None:
        say(
            f"resuming after step {self.position.step}, {self.position.images} samples into epoch "
            f"{self.position.epoch + 1}: written by {written_by} ranks, now {ranks.size()}"
        )

    def restart_clock(self) -> None:
        """Count the time until now in no step, such as that of an evaluation."""
        self._ended = time.perf_counter()

    def after_step(
        self,
        capture: Callable[[], State],
        *,
        losses: Callable[[], Mapping[str, float]] = dict,
        samples: int | None = None,
        waited: float = 0.0,
        ends_epoch: bool = False,
        steps: int = 1,
        is_complete: bool = True,
    ) -> None:
        """Count a step of all ranks, or several that the framework runs as one, and save where that is due.

        Args:
            capture: Returns the state; called on every rank where a checkpoint is due.
            losses: Returns this rank's present losses by name, the same names on every rank; called about once in a
                second, because it may have to wait for a GPU.
            samples: Samples of this rank in each step. Default: the batch size.
            waited: Seconds in which each step waited for its samples.
            ends_epoch: Whether it is the epoch's last, the same on every rank: `after_epoch` then saves, and stops.
            steps: Steps since the last call, the same on every rank.
            is_complete: Whether `capture` returns all of the state, the same on every rank: not while gradients are
                accumulated, so that what is due waits for the next complete step.

        Raises:
            Stopped: A rank got a stop request, and the state is saved.
        """
        watchdog.progress()
        seconds, self._ended = time.perf_counter() - self._ended, time.perf_counter()
        for _ in range(steps):
            self._throughput.step(self._batch_size if samples is None else samples, seconds / steps, waited)
            self.position = self.position.after_step(ranks.size(), self._batch_size)
            self._save_due |= self._every.after_step(self.position.step)
        self._clock.add(steps * self._batch_size * ranks.size())
        self._until_exchange -= steps
        if not ends_epoch and is_complete and (self._save_due or self._until_exchange <= 0):
            self._save_or_stop(capture, losses)

    def after_epoch(
        self, capture: Callable[[], State], metrics: Mapping[str, float], *, is_complete: bool = True
    ) -> None:
        """Count an epoch of all ranks, print its line, and save where that is due.

        Args:
            capture: Returns the state; called on every rank where a checkpoint is due.
            metrics: Figures of the epoch by name, the same on every rank, such as `loss` and `val_accuracy`.
            is_complete: As in `after_step`.

        Raises:
            Stopped: A rank got a stop request, and the state is saved.
        """
        self.position = self.position.after_epoch()
        self._note(metrics)
        self._save_due |= self._every.after_epoch(self.position.epoch)
        if is_complete:
            self._save_or_stop(capture, dict)

    def _save_or_stop(self, capture: Callable[[], State], losses: Callable[[], Mapping[str, float]]) -> None:
        stop, due = self._exchange(losses)
        if stop:
            self._end(capture)
        if self._save_due or due:
            self._save(capture)
        self._save_due = False
        self.restart_clock()

    def finish(self, capture: Callable[[], State], results: Mapping[str, Any]) -> None:
        """Save the end, write results.json, and let another run take the folder.

        Args:
            capture: Returns the state.
            results: Figures of the run for results.json.
        """
        self.results = {**results, **self.results, **results}
        self._save(capture)
        watchdog.progress()
        self._writer.wait()
        on_rank_zero(self._write)
        self.close()
        if importlib.util.find_spec("matplotlib"):
            curve.draw(self._output)

    def close(self) -> None:
        """Wait for a write in flight, and let another run take the folder; after an error too."""
        self._opened.close()
        watchdog.finished()

    # ------------------------------------------------------------------------------------------------------ exchanges

    def _exchange(self, losses: Callable[[], Mapping[str, float]]) -> tuple[bool, bool]:
        """Return whether a rank got a stop request, and whether a checkpoint is due by rank zero's clock."""
        if self._writer.failed:
            self._timer.retry()
        steps = self._throughput.steps - self._steps_before
        self._steps_before = self._throughput.steps
        speed, wait = self._throughput.recent(steps)
        own = dict(losses())
        of_second = math.ceil(speed * _SECONDS_BETWEEN_EXCHANGES / self._batch_size)
        row = [self._stop.received, self._timer.due, of_second, speed, wait, *own.values()]
        rows = ranks.current().rows(np.array(row, np.float64), "progress")
        # Rank zero's clock decides, so that all ranks save after the same step.
        due, self._until_exchange = bool(rows[0, 1]), max(1, int(rows[0, 2]))
        if steps:
            self._print(dict(zip(own, rows[:, 5:].mean(axis=0), strict=True)), rows[:, 3].sum(), rows[:, 4].max())
        return bool(rows[:, 0].any()), due

    def _print(self, losses: Mapping[str, float], speed: float, wait: float) -> None:
        """Print a line, unless the last one is recent."""
        if time.monotonic() - self._printed_at <= _SECONDS_BETWEEN_LINES:
            return
        self._printed_at = time.monotonic()
        words = [f"{name} {value:.4f}" for name, value in losses.items()]
        words.append(f"{rate(speed)} samples/s" + (" while it warms up" if self._throughput.warming_up else ""))
        if wait:
            words.append(f"{wait:.0%} of the time waiting for samples")
        epoch = self.position.epoch + bool(self.position.segments)
        say(f"epoch {epoch}{self._of_epochs}, step {self.position.step}: {', '.join(words)}")
        if self._curves:
            self._curves.add(self.position.step, {**losses, "samples per second": speed, "data wait share": wait})

    @property
    def _of_epochs(self) -> str:
        return f"/{self._epochs}" if self._epochs else ""

    def _note(self, metrics: Mapping[str, float]) -> None:
        """Add an epoch to the results, their history and the curves, and print its line."""
        losses = {name: value for name, value in metrics.items() if name.endswith("loss")}
        others = {name: value for name, value in metrics.items() if name not in losses}
        point = curve.point(self.position.epoch, ranks.size(), loss=losses, accuracy=others)
        self.results = {
            **metrics,
            **self.results,
            **metrics,
            **speeds(self._throughput.images_per_second),
            **self._throughput.figures(),
            **self._clock.figures(),
            "steps": self.position.step,
            "epochs": self.position.epoch,
            "world_size": ranks.size(),
            "global_batch_size": self._batch_size * ranks.size(),
            "history": [*self.results.get("history", []), point],
        }
        words = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        say(f"epoch {self.position.epoch}{self._of_epochs}: {words or f'step {self.position.step}'}")
        if self._curves:
            self._curves.add(self.position.step, {f"epoch {name}": value for name, value in metrics.items()})

    # ---------------------------------------------------------------------------------------------------- checkpoints

    def _end(self, capture: Callable[[], State]) -> None:
        """Save, and end the run."""
        self._save(capture)
        watchdog.progress()
        saved = self._writer.wait()
        # The launcher ends the others when the first rank leaves; rank zero must have written by then.
        barrier()
        here = "here" if saved else "the checkpoint before, because this one could not be written"
        say(f"stopped on request after step {self.position.step}; the same command resumes from {here}")
        self.close()
        raise Stopped

    def _save(self, capture: Callable[[], State]) -> None:
        """Begin to write a checkpoint."""
        watchdog.progress()
        state = capture()
        own = base64.b64encode(state.of_rank).decode()
        written = {
            "settings": self._settings,
            "position": self.position.to_json(),
            "results": {**self.results, **self._clock.figures()},
            "names": list(state.arrays),
            "of_ranks": ranks.current().gather(own, "of ranks"),
            "adapter": dict(state.metadata),
        }
        self._writer.save_arrays(list(state.arrays.values()), self.position.step, written)
        self._timer.restart()

    def _write(self) -> None:
        try:
            files.write_json(self._output / "results.json", self.results)
        except OSError as error:
            raise files.unwritable(self._output, error, option="output") from error
        brief = {name: value for name, value in self.results.items() if type(value) in (int, float)}
        print(files.results_line(brief), flush=True)


def _curves(output: Path) -> "Curves | None":
    """Return TensorBoard's curves; None where the package tensorboard is not installed."""
    if not importlib.util.find_spec("tensorboard"):
        return None
    from .tensorboard_curves import Curves

    return Curves(output)
