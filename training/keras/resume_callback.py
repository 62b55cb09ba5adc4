"""The callback with which `model.fit` resumes exactly."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from ..runtime import ranks, watchdog
from ..runtime.errors import UserError
from ..runtime.every import Every, every
from ..runtime.position import Position
from ..runtime.user_loop import DEFAULT_EVERY
from . import sources
from .connected import connect
from .ending import or_exit
from .fit import Fit, FitSettings
from .sources import Source

# By folder: a fit() that an error has ended, as in a notebook, still has the lock of its folder.
_OPEN: dict[Path, Fit] = {}

# TensorFlow's Keras has no types.
_Callback: Any = tf.keras.callbacks.Callback


class ResumeCallback(_Callback):
    """Saves a `fit` while it trains, and resumes it at the next step: after a kill, a stop, or a lost rank.

    Give `fit` its data from `batches` or `dataset`, and the callback. A stop request (SIGTERM, SIGUSR1) saves the state
    at the end of a step, and ends the script with exit code 75.
    """

    def __init__(
        self,
        output: str | Path,
        *,
        seed: int,
        checkpoint_every: str | Every = DEFAULT_EVERY,
        keep_checkpoints: int = 3,
        settings: Mapping[str, Any] | None = None,
        strategy: Any = None,
    ) -> None:
        """Seed Python, NumPy and TensorFlow: create it before the model, and after `hvd.init()`.

        Args:
            output: Folder of the run, on a file system that all ranks share: checkpoints, curves, results.json.
            seed: Seed of the weights and of the order of the data.
            checkpoint_every: So many steps, epochs or minutes, such as "500steps", "2epochs" or "10min"; a checkpoint
                also follows a stop request and the last epoch.
            keep_checkpoints: Checkpoints to keep.
            settings: Values of the script that decide what is learned, such as its arguments, in JSON's types: a run
                resumes only with the same. Default: the seed and the number of samples alone.
            strategy: The `tf.distribute.MultiWorkerMirroredStrategy` in whose scope the model is. Default: Horovod, if
                it is initialized, else one rank.
        """
        super().__init__()
        # Without it Keras waits for the losses of each step.
        self._supports_tf_logs = True
        self._strategy = strategy
        self._source: Source | None = None
        self._fit: Fit | None = None
        self._read = False
        self._given = or_exit(
            lambda: FitSettings(
                output=Path(output),
                seed=seed,
                checkpoint_every=_every(checkpoint_every),
                keep_checkpoints=keep_checkpoints,
                settings=_settings(settings or {}),
            )
        )
        or_exit(lambda: connect(strategy))
        tf.keras.utils.set_random_seed(seed)

    # ----------------------------------------------------------------------------------------------------------- data

    def batches(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        batch_size: int | None = None,
        samples: int | None = None,
        workers: int = 1,
    ) -> Any:
        """Return the data of a `fit` in an order of this run: every rank gives all samples, and gets its part of them.

        Args:
            x: Arrays; or an object whose items are samples, or a function from a number to a sample, such as a tuple of
                an image and its label; or without `batch_size` an object whose items are batches, such as a
                `keras.utils.Sequence`. A function with a second parameter gets a generator of NumPy's there, the same
                for the same sample of the same epoch: draw from it alone.
            y: Targets, where `x` is arrays.
            sample_weight: Weights, where `x` is arrays.
            batch_size: Samples per step and rank.
            samples: Samples of a function.
            workers: Threads that read samples.
        """
        data, seed = (x, y, sample_weight), self._given.seed
        return self._use(lambda: sources.of(data, batch_size=batch_size, samples=samples, seed=seed, workers=workers))

    def dataset(self, make: Callable[..., Any], *, samples: int, batch_size: int) -> Any:
        """Return the data of a `fit` from TensorFlow's data sets.

        Args:
            make: Takes the number of an epoch, a tensor, and a function; returns the batches of this rank. Give the
                function a data set of all samples in the order of the epoch, before anything expensive: it returns the
                samples that this rank has still to train.
            samples: Samples of an epoch, over all ranks.
            batch_size: Samples per step and rank.
        """
        return self._use(lambda: sources.DatasetSource(make, samples=samples, batch_size=batch_size))

    def _use(self, make: Callable[[], Source]) -> Any:
        self._source = source = or_exit(make)
        # Under a strategy Keras reads one data set for all epochs, else one for each.
        endless = self._strategy is not None and ranks.size() > 1
        dataset = source.dataset(self._position, endless=endless)
        if endless:
            # Each rank has its own batches: TensorFlow would deal them out again.
            return self._strategy.distribute_datasets_from_function(lambda _: dataset)
        return dataset.apply(tf.data.experimental.assert_cardinality(source.steps_left(Position())))

    def _position(self) -> Position:
        if self._fit is None:
            raise RuntimeError("the data of a ResumeCallback are for the fit() that gets the callback")
        self._read = True
        return self._fit.position

    # ---------------------------------------------------------------------------------------------------- Keras' calls

    def on_train_begin(self, logs: Any = None) -> None:
        """Wait until the other callbacks have begun."""
        or_exit(self._check)
        # Nothing of Keras leads from a callback to the others, whose state belongs to the run.
        others = sys._getframe(1).f_locals["self"]
        # Keras asks it, after all callbacks have begun, for the epoch and step with which to begin.
        self.model._training_state = _Counters(lambda *given: or_exit(lambda: self._start(others, *given)))

    def _check(self) -> None:
        if self._source is None:
            raise UserError(
                "fit() has no data of ResumeCallback; give it those of its batches(x, y, batch_size=…) or dataset(…)"
            )
        if self._fit is not None:
            raise UserError(
                f"the ResumeCallback of {self._given.output} was in a fit() before; give each fit() its own, with "
                f"another folder, such as {self._given.output / 'second'}"
            )
        self._check_alone()

    def _check_alone(self) -> None:
        if self.model._training_state is not None:
            raise UserError("BackupAndRestore resumes this fit() too; remove it: ResumeCallback resumes in mid-epoch")

    def _after_step(self, done: int, logs: Mapping[str, Any]) -> None:
        if not self._read:
            raise UserError(
                "fit() trains on other data than those of its ResumeCallback; give it what batches() or dataset() "
                "returns"
            )
        assert self._fit
        self._fit.after_step(done, logs)

    def _start(self, callbacks: Any, steps: int | None, initial_epoch: int) -> tuple[int, int]:
        assert self._source
        self.model._training_state = None
        of_epoch = self._source.steps_left(Position())
        if steps != of_epoch:
            raise UserError(
                f"'steps_per_epoch' is {steps}, but the data of fit() have {of_epoch} steps; give {of_epoch}"
            )
        others = [each for each in callbacks.callbacks if each is not self]
        epochs, folder = range(initial_epoch, self.params["epochs"]), self._given.output.resolve()
        if folder in _OPEN:
            _OPEN.pop(folder).close()
        fit = Fit(self._given, self._source, self.model, others, epochs)
        # First at each beginning and last at each end, so that the state of the others is that between two steps.
        callbacks.callbacks = [_Beginning(fit), *others, self]
        self._fit = _OPEN[folder] = fit
        return fit.start()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Reject a callback that has taken the place of this one."""
        if self._fit is None:
            or_exit(self._check_alone)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Count the steps of Keras' last call, and save or stop where that is due."""
        or_exit(lambda: self._after_step(batch + 1, logs or {}))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Count the epoch, print its line, and save or stop where that is due."""
        fit = self._fit
        assert fit
        or_exit(lambda: fit.after_epoch(logs or {}))

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Report progress to the watchdog: a validation may be long."""
        watchdog.progress()

    def on_train_end(self, logs: Any = None) -> None:
        """Save the end, and write results.json."""
        assert self._fit
        or_exit(self._fit.finish)
        _OPEN.pop(self._given.output.resolve())


class _Beginning(_Callback):
    """The first of the callbacks: it sets the state before the others begin an epoch or a step."""

    def __init__(self, fit: Fit) -> None:
        super().__init__()
        self._fit = fit

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the state of a run that continues at the beginning of an epoch."""
        or_exit(self._fit.before_epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Set the state of a run that continues within an epoch."""
        or_exit(self._fit.before_step)


class _Counters:
    """Keras' interface of `BackupAndRestore`."""

    def __init__(self, start: Callable[[int | None, int], tuple[int, int]]) -> None:
        self._start = start

    def maybe_load_initial_counters_from_ckpt(
        self, steps_per_epoch: int | None, initial_epoch: int, mode: str
    ) -> tuple[int, int]:
        """Return the epoch and the step with which `fit` begins."""
        return self._start(steps_per_epoch, initial_epoch)


def _every(given: str | Every) -> Every:
    try:
        return given if isinstance(given, Every) else every(str(given))
    except argparse.ArgumentTypeError as error:
        raise UserError(f"'checkpoint_every' {error}") from error


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as a checkpoint has them."""
    try:
        return dict(json.loads(json.dumps(dict(given))))
    except (TypeError, ValueError) as error:
        raise UserError(
            f"'settings' is {given}, which JSON has not ({error}); give numbers, strings, lists and dictionaries"
        ) from error
