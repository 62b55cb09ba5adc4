"""A run of training.resnet50 that continues with PyTorch: the same logits, the same next step, the same image."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision

from tests.training.mpirun import ROOT
from training.imagenet.recipe import sgd
from training.runtime import checkpoint, rank_checkpoint
from training.runtime.checkpoint import Checkpoint
from training.runtime.errors import UserError
from training.runtime.position import Position
from training.torch_imagenet import convert_checkpoint, models
from training.torch_imagenet.__main__ import forward_of, make_train_step, to_float
from training.torch_imagenet.models import Model, pad_as_tensorflow
from training.torch_imagenet.torch_network import Network

SETTINGS: dict[str, Any] = {
    "--epochs": 3,
    "--image-size": 64,
    "--classes": 10,
    "--precision": "float32",
    "--learning-rate": 2.0,
    "--warmup-epochs": 1,
    "--weight-decay": 0.01,
    "--momentum": 0.875,
    "--label-smoothing": 0.1,
    "--min-crop-area": 0.08,
    "--mirror": "on",
    "--seed": 7,
}
# In the second epoch, after the warm-up; the rate falls from step to step.
METADATA: dict[str, Any] = {
    "settings": {**SETTINGS, "--optimizer": "sgd", "--cache": "off", "--decode": "cpu"},
    "position": {"step": 2, "epoch": 1, "segments": [[1, 4, 2]]},
    "results": {"history": []},
    "epoch_losses": {"weight": 2, "training": 4.6},
    "skipped": {"train": [3], "validation": []},
    "training_images": 40,
    "dataset": {"train": "a"},
}
NAMES = ("position", "skipped", "training_images")
#: The network of training.resnet50, before a test makes it smaller.
WHOLE = models.MODELS[convert_checkpoint.MODEL]


def small(num_classes: int) -> torch.nn.Module:
    """Return the model that `keras_run.py` beside this file trains: each kind of block, and two without a stride."""
    block = torchvision.models.resnet.Bottleneck
    return pad_as_tensorflow(torchvision.models.ResNet(block, [2, 1, 1, 1], num_classes=num_classes))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.MODELS, convert_checkpoint.MODEL, Model(small, 64))


@pytest.fixture(scope="module")
def keras(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of the smaller network."""
    return trained(tmp_path_factory.mktemp("keras"), METADATA, (2, 1, 1, 1))


def trained(folder: Path, metadata: dict[str, Any], blocks: tuple[int, ...]) -> Path:
    """Return the folder of a run that TensorFlow has trained for two steps."""
    (folder / "metadata.json").write_text(json.dumps(metadata))
    program = [str(ROOT / ".venv-training/bin/python"), "-m", "tests.training.torch_imagenet.keras_run"]
    done = subprocess.run([*program, str(folder), *map(str, blocks)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def resumed(keras: Path, output: Path, **settings: Any) -> tuple[Network, dict[str, Any]]:
    """Return the network that the program makes, with what it resumes."""
    convert_checkpoint.main(["--from-dir", str(keras), "--output-dir", str(output)])
    given = SETTINGS | settings
    model = models.build(convert_checkpoint.MODEL, given["--classes"])
    network = Network(model, momentum=0.875, weight_decay=0.01, scaled=False)
    written = rank_checkpoint.resume(
        output,
        network.variables,
        {"--model": "resnet50-same", **given},
        per_rank=network.statistics,
        names=NAMES,
    )
    return network, written


def assert_same_logits(network: Network, keras: Path) -> None:
    found = np.load(keras / "keras.npz")
    images = torch.from_numpy(found["images"][2]).permute(0, 3, 1, 2)
    with torch.no_grad():
        logits = network.model.eval()(to_float(images, torch.zeros(4, dtype=torch.bool))).numpy()
    assert np.ptp(found["logits"]) > 0.1
    np.testing.assert_allclose(logits, found["logits"], rtol=0, atol=1e-4)


def test_the_first_logits_are_those_of_keras(keras: Path, tmp_path: Path) -> None:
    network, _ = resumed(keras, tmp_path)
    assert_same_logits(network, keras)


@pytest.mark.whole_run
def test_the_first_logits_of_the_whole_resnet50_are_those_of_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(models.MODELS, convert_checkpoint.MODEL, WHOLE)
    of_imagenet = {"--image-size": 128, "--classes": 1000, "--learning-rate": 0.01}
    keras = trained(tmp_path, {**METADATA, "settings": METADATA["settings"] | of_imagenet}, (3, 4, 6, 3))
    network, _ = resumed(keras, tmp_path / "torch", **of_imagenet)
    assert sum(each.numel() for each in network.model.parameters()) == 25_557_032
    assert_same_logits(network, keras)


def test_the_next_step_is_that_of_keras(keras: Path, tmp_path: Path) -> None:
    network, _ = resumed(keras, tmp_path)
    before = [each.numpy() for each in network.variables]
    found, after = np.load(keras / "keras.npz"), np.load(keras / "after.npz")
    forward = forward_of(network, torch.device("cpu"), deterministic=False, compiled=False)
    step = make_train_step(network, forward, precision="float32", label_smoothing=0.1)
    # Of the third step: 8 of 40 images into the second epoch, 4 images a step.
    recipe = sgd(learning_rate=2.0, warmup_epochs=1, weight_decay=0.01, momentum=0.875, epochs=3)
    network.learning_rate = recipe.rate(1.2, 4)
    given = torch.from_numpy(found["images"][2]).permute(0, 3, 1, 2).contiguous()
    step(given, torch.from_numpy(found["labels"][2]).long(), torch.from_numpy(found["mirrored"][2]), 0)
    expected = [after[name] for name in after.files]
    names = [name for name, _ in network.model.named_parameters()]
    order = convert_checkpoint._order_of_keras(names)
    for place, name in enumerate(order):
        index = names.index(name)
        wanted = convert_checkpoint._turned(expected[place])
        # Of the step itself, most of which is momentum: what is left is rounding, which normalization of four images
        # makes larger.
        missing, moved = (np.linalg.norm(wanted - each) for each in (network.variables[index].numpy(), before[index]))
        assert moved > 0
        assert missing < 0.02 * moved, name
    for own, theirs in zip(network.statistics, expected[len(names) :], strict=True):
        np.testing.assert_allclose(own.numpy(), theirs, rtol=1e-3, atol=1e-4)


def test_the_run_continues_at_the_same_image(keras: Path, tmp_path: Path) -> None:
    _, written = resumed(keras, tmp_path)
    assert Position.from_json(written["position"]) == Position.from_json(METADATA["position"])
    assert written["settings"] == {"--model": "resnet50-same", **SETTINGS}
    kept = ("results", "epoch_losses", "skipped", "training_images", "dataset")
    assert {name: written[name] for name in kept} == {name: METADATA[name] for name in kept}
    assert written["world_size"] == 1


def test_the_run_that_is_converted_stays_as_it_is(keras: Path, tmp_path: Path) -> None:
    before = sorted((path.name, path.read_bytes()) for path in (keras / "checkpoints").iterdir())
    resumed(keras, tmp_path)
    assert sorted((path.name, path.read_bytes()) for path in (keras / "checkpoints").iterdir()) == before


def test_the_rate_of_a_momentum_between_epochs_is_that_of_the_last_batch() -> None:
    written = {**METADATA, "position": {"step": 10, "epoch": 1, "segments": []}, "results": {"global_batch_size": 512}}
    assert convert_checkpoint._next_rate(written, SETTINGS) == 4.0


def test_the_padding_is_tensorflows_for_images_of_every_size() -> None:
    # tf.nn.conv2d(…, strides=2, padding="SAME") of ones with a 3 x 3 kernel of ones: the sums of the windows' pixels.
    for size, expected in ((4, [3, 2]), (5, [2, 3, 2])):
        layer = torch.nn.Conv2d(1, 1, 3, stride=2, padding=1, bias=False)
        torch.nn.init.ones_(layer.weight)
        with torch.no_grad():
            found = pad_as_tensorflow(torch.nn.Sequential(layer))(torch.ones(1, 1, size, size))
        assert found[0, 0].tolist() == [[high * wide for wide in expected] for high in expected]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "are not those of the ResNet-50 of this version's training.resnet50"),
        ({"training_images": None}, "are not those of the ResNet-50 of this version's training.resnet50"),
        (
            {"settings": {**METADATA["settings"], "--optimizer": "lars"}},
            "were written with --optimizer lars, which training.torch_imagenet has not; give a run with sgd",
        ),
    ],
)
def test_rejects_what_it_cannot_convert(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    content = {**METADATA, "names": ["weights"], "world_size": 1, **change}
    checkpoint.save(tmp_path / "checkpoints", Checkpoint(step=2, arrays=[np.zeros(3, np.float32)], metadata=content))
    with pytest.raises(UserError, match=message):
        convert_checkpoint.main(["--from-dir", str(tmp_path), "--output-dir", str(tmp_path / "new")])


def test_rejects_a_folder_without_a_run_and_one_with_another(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="which has no checkpoint; give the '--output-dir' of a run"):
        convert_checkpoint.main(["--from-dir", str(tmp_path / "none"), "--output-dir", str(tmp_path / "new")])
    checkpoint.save(tmp_path / "checkpoints", Checkpoint(step=2, arrays=[], metadata={"world_size": 1}))
    with pytest.raises(UserError, match="which has checkpoints; give another folder"):
        convert_checkpoint.main(["--from-dir", str(tmp_path), "--output-dir", str(tmp_path)])
