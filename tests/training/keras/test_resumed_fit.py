"""A `fit` that is killed, or stopped, ends as an undisturbed one."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.keras.tiny_fit import BATCH, X, Y, assert_same, fit, fit_with_kills, make_model

STEPS = 12


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return fit(tmp_path_factory.mktemp("undisturbed"), callbacks=_plateau, validation_data=(X[:20], Y[:20]))


def _plateau() -> list[Any]:
    return [tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=0, min_delta=0.5, factor=0.5)]


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param((3,), id="before the first checkpoint"),
        pytest.param((8,), id="within the first epoch"),
        pytest.param((10,), id="at a checkpoint"),
        pytest.param((STEPS,), id="at the last step of an epoch"),
        pytest.param((STEPS + 1, 6, 7), id="three times"),
    ],
)
def test_a_killed_fit_ends_as_an_undisturbed_one(undisturbed: Any, tmp_path: Path, kills: tuple[int, ...]) -> None:
    killed = fit_with_kills(tmp_path, *kills, callbacks=_plateau, validation_data=(X[:20], Y[:20]))
    assert_same(killed, undisturbed)


def test_the_learning_rate_and_the_wait_of_callbacks_are_kept(undisturbed: Any) -> None:
    # Otherwise the tests above would not see a learning rate that is lost.
    rates = undisturbed.history.history["lr"]
    assert rates[0] == rates[1] > rates[2]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"class_weight": {0: 1.0, 1: 3.0}}, id="class weight"),
        pytest.param({"initial_epoch": 1}, id="initial epoch"),
        pytest.param({"steps_per_epoch": STEPS}, id="steps per epoch"),
        pytest.param({"model": lambda: make_model(run_eagerly=True), "epochs": 2}, id="eager"),
        pytest.param(
            {"model": lambda: make_model(tf.keras.optimizers.SGD(0.1, momentum=0.9, use_ema=True))}, id="moving average"
        ),
        pytest.param({"model": lambda: make_model(tf.keras.optimizers.legacy.Adam(0.01))}, id="legacy optimizer"),
        pytest.param(
            {"model": lambda: make_model(tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(0.01)))},
            id="loss scale",
        ),
        pytest.param(
            {"data": lambda resume: resume.batches(X, Y, np.linspace(0, 1, len(X)), batch_size=BATCH)},
            id="sample weight",
        ),
        pytest.param(
            {
                "callbacks": lambda: [
                    tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5),
                    tf.keras.callbacks.EarlyStopping(monitor="loss", patience=1, restore_best_weights=True),
                ]
            },
            id="schedule and early stopping",
        ),
    ],
)
def test_options_of_keras_keep_a_killed_fit_exact(tmp_path: Path, options: dict[str, Any]) -> None:
    killed = fit_with_kills(tmp_path / "killed", STEPS + 7, **options)
    assert_same(killed, fit(tmp_path / "undisturbed", **options))


def test_steps_that_keras_runs_as_one_are_saved_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def model() -> Any:
        return make_model(steps_per_execution=5)

    # An epoch is 5, 5 and 2 steps.
    killed = fit_with_kills(tmp_path / "killed", 5, model=model, checkpoint_every="4steps")
    assert "resuming after step 17, 40 samples into epoch 2" in capsys.readouterr().out
    assert_same(killed, fit(tmp_path / "undisturbed", model=model))


def test_a_stop_request_saves_and_ends_with_75(
    undisturbed: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stop(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 6:
                os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended:
        fit(tmp_path, callbacks=lambda: [*_plateau(), Stop()], validation_data=(X[:20], Y[:20]))
    assert ended.value.code == 75
    assert "stopped on request after step " in capsys.readouterr().out
    assert signal.getsignal(signal.SIGTERM) == before
    assert_same(fit(tmp_path, callbacks=_plateau, validation_data=(X[:20], Y[:20])), undisturbed)


def test_a_finished_fit_trains_nothing_and_has_its_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = fit(tmp_path)
    again = fit(tmp_path, kill_after=1)
    assert_same(again, first)
    assert "nothing to do" in capsys.readouterr().out
    results = json.loads((tmp_path / "results.json").read_text())
    assert (results["steps"], results["epochs"], results["trained_images"]) == (36, 3, 288)
    assert [point["epoch"] for point in results["history"]] == [1, 2, 3]


def test_a_fit_that_stopped_early_stays_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def early() -> list[Any]:
        return [tf.keras.callbacks.EarlyStopping(monitor="loss", patience=0, min_delta=10)]

    first = fit(tmp_path, callbacks=early)
    assert first.history.epoch == [0, 1]
    assert_same(fit(tmp_path, callbacks=early, kill_after=1), first)


def test_more_epochs_continue_a_finished_fit(undisturbed: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"callbacks": _plateau, "validation_data": (X[:20], Y[:20])}
    fit(tmp_path, epochs=2, **options)
    assert_same(fit(tmp_path, epochs=3, **options), undisturbed)


def test_a_new_patience_is_taken(tmp_path: Path) -> None:
    def early(patience: int) -> Any:
        return lambda: [tf.keras.callbacks.EarlyStopping(monitor="loss", patience=patience, min_delta=10)]

    assert fit(tmp_path, kill_after=STEPS + 6, callbacks=early(5)) is None
    assert fit(tmp_path, callbacks=early(1)).history.epoch == [0, 1]
