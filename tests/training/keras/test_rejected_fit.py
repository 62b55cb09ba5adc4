"""A `fit` that cannot resume exactly is rejected, or says so, with a way out."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.keras.tiny_fit import BATCH, X, Y, fit, make_model
from training.keras import ResumeCallback


def _error(capsys: pytest.CaptureFixture[str], action: Any) -> str:
    with pytest.raises(SystemExit) as ended:
        action()
    assert ended.value.code == 2
    return capsys.readouterr().err.removeprefix("error: ").strip()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"checkpoint_every": "5"}, "'checkpoint_every' is '5'; give a whole number of steps, epochs or minutes"),
        ({"settings": {"rate": 1j}}, "'settings' is {'rate': 1j}, which JSON has not"),
    ],
)
def test_rejects_values(capsys: pytest.CaptureFixture[str], tmp_path: Path, given: Any, error: str) -> None:
    assert _error(capsys, lambda: ResumeCallback(tmp_path, seed=1, **given)).startswith(error)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            lambda resume: resume.batches(X, Y, batch_size=97),
            "'batch_size' is 97, and a step of 1 ranks takes 97 samples, but there are 96; give 'batch_size'",
        ),
        (
            lambda resume: resume.batches(X, Y),
            "'batch_size' is None, and the data are ndarray; give the samples per step",
        ),
        (lambda resume: resume.batches(X, Y[:9], batch_size=8), "the arrays have 96 and 9 samples; give arrays of one"),
        (
            lambda resume: resume.batches(lambda number: (X[number], Y[number]), batch_size=8),
            "'samples' is None, and the data are a function, which has no length; give its samples",
        ),
        (
            lambda resume: resume.dataset(
                lambda epoch, own: own(tf.data.Dataset.from_tensor_slices((X, Y))).batch(4), samples=96, batch_size=8
            ),
            "'batch_size' is 8, but the first batch of the data set has 4; give the number that it gives batch()",
        ),
        (
            lambda resume: (resume.batches(X, Y, batch_size=8), tf.data.Dataset.from_tensor_slices((X, Y)).batch(8))[1],
            "fit() trains on other data than those of its ResumeCallback; give it what batches() or dataset() returns",
        ),
        (
            lambda resume: tf.data.Dataset.from_tensor_slices((X, Y)).batch(8),
            "fit() has no data of ResumeCallback; give",
        ),
    ],
)
def test_rejects_data(capsys: pytest.CaptureFixture[str], tmp_path: Path, data: Any, error: str) -> None:
    assert _error(capsys, lambda: fit(tmp_path, data=data)).startswith(error)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"steps_per_epoch": 5}, "'steps_per_epoch' is 5, but the data of fit() have 12 steps; give 12"),
        (
            {"callbacks": lambda: [tf.keras.callbacks.BackupAndRestore("backup")], "epochs": 1},
            "BackupAndRestore resumes this fit() too; remove it",
        ),
    ],
)
def test_rejects_a_fit(capsys: pytest.CaptureFixture[str], tmp_path: Path, options: Any, error: str) -> None:
    assert _error(capsys, lambda: fit(tmp_path, **options)).startswith(error)


def test_rejects_a_second_fit_with_one_callback(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    resume, model = ResumeCallback(tmp_path, seed=1), make_model()

    def train() -> None:
        model.fit(resume.batches(X, Y, batch_size=BATCH), verbose=0, callbacks=[resume])

    train()
    error = _error(capsys, train)
    assert error.startswith(f"the ResumeCallback of {tmp_path} was in a fit() before; give each fit() its own")


def test_a_second_fit_has_another_folder(tmp_path: Path) -> None:
    model = make_model()
    for phase in ("head", "all"):
        resume = ResumeCallback(tmp_path / phase, seed=1)
        model.fit(resume.batches(X, Y, batch_size=BATCH), verbose=0, callbacks=[resume])
        assert (tmp_path / phase / "results.json").is_file()


@pytest.mark.parametrize(
    ("again", "error"),
    [
        ({"settings": {"rate": 2}}, "'rate' is 2, but the checkpoints in "),
        ({"data": lambda resume: resume.batches(X[:90], Y[:90], batch_size=BATCH)}, "'samples' is 90, but the checkpo"),
        ({"model": lambda: make_model("sgd")}, "the checkpoints in "),
    ],
)
def test_rejects_the_checkpoints_of_another_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, again: Any, error: str
) -> None:
    fit(tmp_path, kill_after=8, settings={"rate": 1})
    options: dict[str, Any] = {"settings": {"rate": 1}, **again}
    assert _error(capsys, lambda: fit(tmp_path, **options)).startswith(error)


def test_rejects_ranks_that_train_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "OMPI_COMM_WORLD_SIZE", "2")
    error = _error(capsys, lambda: ResumeCallback(tmp_path, seed=1))
    assert error.startswith("mpirun has started 2 ranks, but Horovod is not initialized and 'strategy' is None; call")


# ------------------------------------------------------------------------------------------------------ broken promises


def test_says_that_samples_are_drawn_at_random(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unseeded = np.random.default_rng()

    def sample(number: int) -> Any:
        return X[number] + unseeded.normal(size=4).astype("float32"), Y[number]

    fit(tmp_path, epochs=1, data=lambda resume: resume.batches(sample, samples=96, batch_size=BATCH))
    assert "warning: the same sample, read twice, has another content" in capsys.readouterr().out


def test_says_that_the_samples_have_another_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit(tmp_path, kill_after=8)
    assert "warning" not in capsys.readouterr().out
    fit(tmp_path, data=lambda resume: resume.batches(X[::-1], Y[::-1], batch_size=BATCH))
    assert "warning: the same sample is another one than before the restart" in capsys.readouterr().out


def test_says_that_a_model_draws_with_a_hidden_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def model() -> Any:
        layers = tf.keras.layers
        noisy = tf.keras.Sequential(
            [layers.Lambda(lambda x: x + tf.random.normal(tf.shape(x))), layers.Dense(1, activation="sigmoid")]
        )
        noisy.compile("sgd", "binary_crossentropy")
        return noisy

    fit(tmp_path, epochs=1, model=model)
    assert "warning: the step of the model draws random numbers in " in capsys.readouterr().out


def test_says_that_a_data_set_draws_with_a_hidden_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def batches(epoch: Any, own: Any) -> Any:
        samples = own(tf.data.Dataset.from_tensor_slices((X, Y)))
        return samples.map(lambda x, y: (x + tf.random.normal((4,), seed=1), y)).batch(BATCH)

    fit(tmp_path, epochs=1, data=lambda resume: resume.dataset(batches, samples=96, batch_size=BATCH))
    assert "warning: the data set draws random numbers in " in capsys.readouterr().out
