import io
import math
import resource
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import tensorflow as tf

from training.resnet50 import model
from training.runtime.errors import UserError


@pytest.fixture(scope="module")
def resnet50() -> tf.keras.Model:
    tf.keras.utils.set_random_seed(0)
    return model.build(64, 1000)


def test_has_the_parameters_of_resnet_50(resnet50: tf.keras.Model) -> None:
    assert sum(int(tf.size(weight)) for weight in resnet50.trainable_weights) == 25_557_032
    assert len(resnet50.trainable_weights) == model.VARIABLES == 161
    # Means and variances of the 53 layers of batch normalization.
    assert sum(int(tf.size(weight)) for weight in resnet50.non_trainable_weights) == 53_120


def test_stride_is_in_the_3x3_convolution(resnet50: tf.keras.Model) -> None:
    strided = [
        (layer.kernel_size, layer.filters)
        for layer in resnet50.layers
        if isinstance(layer, tf.keras.layers.Conv2D) and layer.strides == (2, 2)
    ]
    shortcuts = [((1, 1), 512), ((1, 1), 1024), ((1, 1), 2048)]
    assert sorted(strided) == sorted([((7, 7), 64), ((3, 3), 128), ((3, 3), 256), ((3, 3), 512), *shortcuts])


def test_batch_normalization_is_that_of_the_recipe(resnet50: tf.keras.Model) -> None:
    layers = [layer for layer in resnet50.layers if isinstance(layer, tf.keras.layers.BatchNormalization)]
    assert len(layers) == 53
    assert {(layer.momentum, layer.epsilon) for layer in layers} == {(0.9, 1e-5)}


def test_no_class_is_likelier_than_another_before_training(resnet50: tf.keras.Model) -> None:
    images = np.random.default_rng(0).normal(size=(8, 64, 64, 3)).astype(np.float32)
    logits = resnet50(images, training=True)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(np.arange(8), logits)
    assert float(loss) == pytest.approx(math.log(1000), abs=0.6)


def test_rejects_another_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_BLOCKS", (1, 1, 1, 1))
    with pytest.raises(AssertionError, match=r"ResNet-50 with 10 classes has 23,528,522 parameters, but this has 8,"):
        model.build(32, 10)


def test_a_backbone_has_the_outputs_of_the_stages_of_the_classifier(tmp_path: Path) -> None:
    blocks, width = (2, 1, 2, 1), 8
    trained = model.network(64, 10, blocks, width)
    random = np.random.default_rng(0)
    # Each of its weights differs from those that a new network has.
    for weight in trained.weights:
        weight.assign(weight * random.uniform(0.9, 1.1, weight.shape) + random.uniform(-0.01, 0.01, weight.shape))
    trained.save(tmp_path / "model.keras", save_format="keras")
    backbone = model.backbone(frozen_stages=2, frozen_normalization=True, blocks=blocks, width=width)
    model.load(backbone, tmp_path / "model.keras")
    # The sum of each stage's last block, and the ReLU after it.
    sums = [layer for layer in trained.layers if isinstance(layer, tf.keras.layers.Add)]
    inside = [tf.nn.relu(sums[place].output) for place in (1, 2, 4, 5)]
    images = random.normal(size=(2, 64, 64, 3)).astype(np.float32)
    outputs = backbone(images, training=True)
    assert [tuple(output.shape) for output in outputs] == [
        (2, 16, 16, 32),
        (2, 8, 8, 64),
        (2, 4, 4, 128),
        (2, 2, 2, 256),
    ]
    for output, expected in zip(outputs, tf.keras.Model(trained.input, inside)(images, training=False), strict=True):
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-4)
        assert np.abs(expected).max() > 0.1


@pytest.fixture(scope="module")
def backbone() -> tf.keras.Model:
    return model.backbone(frozen_stages=0, frozen_normalization=False)


def test_a_backbone_takes_images_of_any_size(backbone: tf.keras.Model) -> None:
    outputs = backbone(np.zeros((1, 100, 33, 3), np.float32))
    assert [tuple(output.shape[1:]) for output in outputs] == [(25, 9, 256), (13, 5, 512), (7, 3, 1024), (4, 2, 2048)]


@pytest.mark.parametrize(
    ("stages", "normalization", "learning"),
    [
        # 17 convolutions, each with its scale and shift.
        (0, False, 51),
        # The first convolution with its scale and shift.
        (1, False, 48),
        # And a block of three convolutions, with one in the shortcut.
        (2, False, 36),
        # 17 convolutions less 1 and 4.
        (2, True, 12),
        (5, False, 0),
    ],
)
def test_frozen_stages_and_normalization_do_not_learn(stages: int, normalization: bool, learning: int) -> None:
    backbone = model.backbone(frozen_stages=stages, frozen_normalization=normalization, blocks=(1, 1, 1, 1), width=8)
    assert len(backbone.trainable_weights) == learning
    assert len(backbone.weights) == 17 * 5


def test_only_free_normalization_takes_the_statistics_of_a_batch() -> None:
    images = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype(np.float32)
    moved = []
    for frozen in (True, False):
        backbone = model.backbone(frozen_stages=2, frozen_normalization=frozen, blocks=(1, 1, 1, 1), width=8)
        layers = [layer for layer in backbone.layers if isinstance(layer, tf.keras.layers.BatchNormalization)]
        backbone(images, training=True)
        moved.append(sum(bool(np.abs(layer.moving_mean).max() > 0) for layer in layers))
    assert moved == [0, 17 - 5]


def test_a_file_of_another_network_is_rejected(backbone: tf.keras.Model, tmp_path: Path) -> None:
    other = tmp_path / "model.keras"
    model.network(32, 10, blocks=(1,), width=8).save(other, save_format="keras")
    with pytest.raises(UserError, match=r"model\.keras holds another network; give the model\.keras of a finished run"):
        model.load(backbone, other)
    other.write_text("not a model")
    with pytest.raises(UserError, match=r"model\.keras cannot be read as a model"):
        model.load(backbone, other)
    with pytest.raises(UserError, match=r"missing\.keras cannot be read as a model"):
        model.load(backbone, tmp_path / "missing.keras")


@pytest.mark.parametrize("count", [1, 5])
def test_a_small_file_with_huge_arrays_is_rejected(backbone: tf.keras.Model, tmp_path: Path, count: int) -> None:
    weights = io.BytesIO()
    with h5py.File(weights, "w") as file:
        for number in range(count):
            # 2 GB in all, none of which is written.
            file.create_dataset(f"layers/conv2d/vars/{number + 2}", (2**29 // count,), "f4", chunks=(2**20,))
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("model.weights.h5", weights.getvalue())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match="more than 1073741824 bytes with layers/conv2d/vars"):
        model.load(backbone, tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("model.weights.h5", "w") as stream:
            for _ in range(17):
                stream.write(bytes(2**26))
    with pytest.raises(UserError, match="it has 1140850688 bytes of weights"):
        model.load(backbone, tmp_path / "model.keras")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20


@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file:UserWarning")
def test_a_model_file_runs_no_code(backbone: tf.keras.Model, tmp_path: Path) -> None:
    made = tmp_path / "made"
    layers = tf.keras.layers
    attack = tf.keras.Sequential(
        [layers.Input((1,)), layers.Lambda(lambda x, path=str(made): (__import__("os").mkdir(path), x)[1])]
    )
    made.rmdir()
    attack.save(tmp_path / "model.h5")
    attack.save(tmp_path / "other.keras", save_format="keras")
    (tmp_path / "model.h5").rename(tmp_path / "model.keras")
    for name in ("model.keras", "other.keras"):
        with pytest.raises(UserError, match=f"{name} (cannot be read as a model|holds another network)"):
            model.load(backbone, tmp_path / name)
    assert not made.exists()
    # Keras itself runs it.
    tf.keras.models.load_model(tmp_path / "model.keras", compile=False)
    assert made.exists()


@pytest.fixture(scope="module")
def theirs() -> tf.keras.Model:
    """Return Keras's ResNet-50 up to its first block, and layers like its last two: its files are small."""
    network = tf.keras.applications.ResNet50(weights=None)
    pooled = tf.keras.layers.GlobalAveragePooling2D()(network.get_layer("conv2_block1_out").output)
    return tf.keras.Model(network.input, tf.keras.layers.Dense(10)(pooled))


@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file:UserWarning")
@pytest.mark.parametrize("name", ["keras.keras", "keras.h5", "keras.weights.h5", "without_top.h5"])
def test_keras_own_resnet_50_is_rejected_with_the_reason(
    name: str, theirs: tf.keras.Model, backbone: tf.keras.Model, tmp_path: Path
) -> None:
    if name == "without_top.h5":
        # Their network without its last two layers.
        theirs = tf.keras.Model(theirs.input, theirs.layers[-3].output)
    path = tmp_path / name
    if "weights" in name:
        # In the layout of the files that Keras downloads.
        theirs.save_weights(tmp_path / "weights.h5", save_format="h5")
        (tmp_path / "weights.h5").rename(path)
    else:
        theirs.save(path)
    reason = (
        r"holds Keras's ResNet-50, which is another network: its convolutions have biases, and it is v1, whose blocks "
        r"have their stride in the first 1x1 convolution; give the model\.keras of a finished run of training\.resnet50"
    )
    with pytest.raises(UserError, match=reason):
        model.load(backbone, path)
