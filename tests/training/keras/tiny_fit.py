"""A `fit` of a second that can be killed at a step, in this process."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from training.keras import ResumeCallback

_RANDOM = np.random.default_rng(0)
X = _RANDOM.normal(size=(96, 4)).astype("float32")
Y = (X.sum(axis=1) > 0).astype("float32")

# Samples per step: an epoch has 12 steps.
BATCH = 8


class Killed(Exception):
    """Ends a `fit` as a kill does: nothing is saved after it."""


class Kill(tf.keras.callbacks.Callback):
    """Kills after so many steps of this start."""

    def __init__(self, steps: int | None) -> None:
        super().__init__()
        # No number, which would be saved as the state of a callback.
        self._left = itertools.repeat(None) if steps is None else iter(range(steps - 1))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if next(self._left, Killed) is Killed:
            raise Killed


def make_model(optimizer: Any = "adam", **options: Any) -> Any:
    """Return a model with dropout, and with statistics that training changes."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Dense(8, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer, "binary_crossentropy", **{"metrics": ["accuracy"], **options})
    return model


def fit(
    output: Path,
    *,
    kill_after: int | None = None,
    epochs: int = 3,
    callbacks: Any = list,
    model: Any = make_model,
    data: Any = lambda resume: resume.batches(X, Y, batch_size=BATCH),
    checkpoint_every: str = "5steps",
    settings: Any = None,
    **options: Any,
) -> Any:
    """Start a script again: return its model, or None where it was killed."""
    # The names of layers begin anew in each process.
    tf.keras.backend.clear_session()
    resume = ResumeCallback(output, seed=1, checkpoint_every=checkpoint_every, settings=settings)
    trained = model()
    try:
        trained.fit(
            data(resume), epochs=epochs, verbose=0, callbacks=[resume, *callbacks(), Kill(kill_after)], **options
        )
    except Killed:
        return None
    return trained


def fit_with_kills(output: Path, *kills: int, **options: Any) -> Any:
    """Return the model of a run that was killed after so many steps of each start."""
    for steps in kills:
        assert fit(output, kill_after=steps, **options) is None
    return fit(output, **options)


def assert_same(model: Any, other: Any) -> None:
    """Compare weights, optimizer and history to the last bit."""
    for one, two in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(_variables(model.optimizer), _variables(other.optimizer), strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())
    assert model.history.history == other.history.history
    assert model.history.epoch == other.history.epoch


def _variables(optimizer: Any) -> Any:
    """Return the variables, which the legacy optimizers have as a method."""
    return optimizer.variables() if callable(optimizer.variables) else optimizer.variables
