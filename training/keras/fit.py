"""One `fit`, from its newest checkpoint to its results."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from ..runtime import ranks, tensorflow_ranks
from ..runtime.distributed import say
from ..runtime.errors import UserError
from ..runtime.every import Every
from ..runtime.position import Position
from ..runtime.user_loop import State, UserLoop
from . import callback_states, model_state, random_states
from .fit_state import FitState
from .sources import Source


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What a user has given the callback, for each of its `fit`s.

    Attributes:
        output: The folder of the run.
        seed: Seed of the run.
        checkpoint_every: So many steps, epochs or minutes.
        keep_checkpoints: Checkpoints to keep.
        settings: Values of the script with which alone the run resumes.
    """

    output: Path
    seed: int
    checkpoint_every: Every
    keep_checkpoints: int
    settings: Mapping[str, Any]


class Fit:
    """A `fit` of a model, which calls the methods in the order in which they are here.

    Attributes:
        position: Position of the run, where the data begin.
    """

    def __init__(self, given: FitSettings, source: Source, model: Any, others: list[Any], epochs: range) -> None:
        """Take the folder, and read the newest checkpoint.

        Args:
            given: What the user has given.
            source: The data.
            model: Compiled; it may have no variables yet.
            others: The other callbacks, which have begun.
            epochs: Numbers of the epochs, as Keras counts them.
        """
        self._source, self._model, self._epochs = source, model, epochs
        self._steps = source.steps_left(Position())
        self._state = FitState(
            model=model,
            callbacks=others,
            first=callback_states.capture(others),
            output=given.output,
            seed=given.seed,
        )
        self._loop = UserLoop(
            given.output,
            settings={"seed": given.seed, "samples": source.samples, "first_epoch": epochs.start, **given.settings},
            batch_size=source.batch_size,
            epochs=len(epochs),
            checkpoint_every=given.checkpoint_every,
            keep_checkpoints=given.keep_checkpoints,
        )
        self._found = self._loop.begin()
        self._ready = self._traced = False
        self._done = 0

    @property
    def position(self) -> Position:
        """Position of the run."""
        return self._loop.position

    def start(self) -> tuple[int, int]:
        """Return the epoch and the step in it with which Keras begins; the epoch after the last where all are done."""
        left = self._source.steps_left(self.position)
        if self.position.segments and not left:
            say(f"the rest of epoch {self.position.epoch + 1} fills no step of {ranks.size()} ranks and is left out")
            self._loop.position, left = self.position.after_epoch(), self._steps
        has_stopped = self._found is not None and self._found.metadata["stopped"]
        if has_stopped or self.position.epoch >= len(self._epochs):
            self._begin()
            return self._epochs.stop, 0
        self._done = self._steps - left
        return self._epochs.start + self.position.epoch, self._done

    def before_epoch(self) -> None:
        """Set the state of a run that continues at the beginning of an epoch, before the other callbacks begin it."""
        if not self.position.segments:
            self._begin()

    def before_step(self) -> None:
        """Set the state of a run that continues within an epoch, whose other callbacks have begun it again."""
        self._begin()

    def after_step(self, done: int, logs: Mapping[str, Any]) -> None:
        """Count the steps of Keras' last call, and save or stop where that is due.

        Args:
            done: Steps of the epoch that are done.
            logs: Keras' means of the epoch so far.
        """
        steps, self._done = done - self._done, done
        if not self._traced:
            self._traced = True
            _say_hidden("step of the model", random_states.hidden_in_step(self._model))
        self._loop.after_step(
            self._capture,
            losses=lambda: _numbers(logs),
            ends_epoch=done >= self._steps or self._model.stop_training,
            steps=steps,
        )

    def after_epoch(self, logs: Mapping[str, Any]) -> None:
        """Count the epoch, print its line, and save or stop where that is due."""
        self._done = 0
        of_all = ranks.current().gather(_numbers(logs), "metrics")
        # A rank may have validated alone.
        common = [name for name in of_all[0] if all(name in each for each in of_all)]
        self._loop.after_epoch(
            self._capture, {name: sum(each[name] for each in of_all) / len(of_all) for name in common}
        )

    def finish(self) -> None:
        """Save the end, and write results.json."""
        self._loop.finish(self._capture, {"versions": tensorflow_ranks.versions()})

    def close(self) -> None:
        """Let another `fit` take the folder; after an error, of which its callbacks do not learn."""
        self._loop.close()

    def _begin(self) -> None:
        """Create all variables, and set them and all other state; once."""
        if self._ready:
            return
        self._ready = True
        model_state.build(self._model, self._source.example())
        if random_states.make_readable(self._model, seed=self._state.seed, rank=ranks.rank()):
            # The step of a fit() before draws with the hidden states.
            self._model.make_train_function(force=True)
        self._compare_data()
        if self._found is None:
            self._state.copy_from_rank_zero()
        else:
            within = bool(self.position.segments)
            self._state.restore(self._found, step=self.position.step, within_epoch=within)
        # Its arrays are a copy of the model.
        self._found = None
        self._loop.restart_clock()

    def _compare_data(self) -> None:
        """Say where the data are others than those of the start before, or cannot be the same again."""
        self._fingerprint = self._source.fingerprint()
        if self._source.fingerprint() != self._fingerprint:
            self._fingerprint = ""
            say(
                "warning: the same sample, read twice, has another content, so a resumed run is not exact; draw from "
                "a second parameter of the function or the '__getitem__' that batches() gets, or give the "
                "operations of a data set a seed"
            )
        elif len(set(ranks.current().gather(self._fingerprint, "fingerprints"))) > 1:
            raise UserError(
                "the samples differ from rank to rank; give all samples on every rank, in the same order: batches() "
                "and dataset() deal them out"
            )
        _say_hidden("data set", self._source.hidden())
        written = self._found.metadata["fingerprint"] if self._found else ""
        if written and self._fingerprint and written != self._fingerprint:
            say(
                "warning: the same sample is another one than before the restart, so this run is not exact; give the "
                "samples an order that no set, folder or time decides"
            )

    def _capture(self) -> State:
        metadata = {"fingerprint": self._fingerprint, "stopped": bool(self._model.stop_training)}
        return self._state.capture(metadata, within_epoch=bool(self.position.segments))


def _numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    """Return the logs that are numbers; a metric may be a list of them."""
    return {name: float(value) for name, value in logs.items() if tf.rank(value) == 0}


def _say_hidden(where: str, operations: list[str]) -> None:
    if operations:
        more = f" and {len(operations) - 1} others" if len(operations) > 1 else ""
        say(
            f"warning: the {where} draws random numbers in {operations[0]}{more}, whose state TensorFlow cannot save, "
            "so a resumed run is not exact; draw with a layer of Keras, a tf.random.Generator, or "
            "tf.random.stateless_uniform and the like"
        )
