from pathlib import Path

import pytest
import tensorflow as tf

from training.runtime import files
from training.runtime.network import make_network

layers = tf.keras.layers


def test_in_float32_the_scale_is_one_and_stays_there() -> None:
    model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,))])
    network = make_network(model, momentum=0.9)
    assert float(network.optimizer.loss_scale) == 1.0
    names = [variable.name for variable in network.variables]
    assert {"current_loss_scale:0", "good_steps:0", "iteration:0", "learning_rate:0"} <= set(names)
    assert sum("m/dense" in name for name in names) == 2


def test_a_frozen_layer_is_saved_but_has_neither_momentum_nor_statistics_of_a_rank() -> None:
    frozen = layers.BatchNormalization(name="frozen", trainable=False)
    model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,)), frozen, layers.BatchNormalization(name="moving")])
    network = make_network(model, momentum=0.9)
    names = [variable.name for variable in network.variables]
    assert [name for name in names if name.startswith("frozen")] == [
        "frozen/gamma:0",
        "frozen/beta:0",
        "frozen/moving_mean:0",
        "frozen/moving_variance:0",
    ]
    assert not [name for name in names if "m/frozen" in name]
    assert [variable.name for variable in network.statistics] == ["moving/moving_mean:0", "moving/moving_variance:0"]


def test_an_exported_model_reaches_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(files, "sync", lambda path: synced.append(path.name))
    network = make_network(tf.keras.Sequential([layers.Dense(2, input_shape=(3,))]), momentum=0.9)
    network.export(tmp_path / "model.keras")
    assert synced == ["model.keras", tmp_path.name]
    assert [path.name for path in tmp_path.iterdir()] == ["model.keras"]
    assert tf.keras.models.load_model(tmp_path / "model.keras").count_params() == 8


def test_a_failed_export_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(model: object, path: Path, save_format: str) -> None:
        path.write_bytes(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(tf.keras.Sequential, "save", fail)
    network = make_network(tf.keras.Sequential([layers.Dense(2, input_shape=(3,))]), momentum=0.9)
    with pytest.raises(OSError, match="the disk is full"):
        network.export(tmp_path / "model.keras")
    assert list(tmp_path.iterdir()) == []
