"""ResNet-50 v1.5, as a classifier and as the backbone of a detector.

v1.5: the stride of a down-sampling block is in its 3x3 convolution, not in the first 1x1.

https://arxiv.org/abs/1512.03385, and NVIDIA's description of v1.5:
https://github.com/NVIDIA/DeepLearningExamples/tree/master/TensorFlow/Classification/ConvNets/resnet50v1.5
"""

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.runtime.errors import UserError

# Blocks of each stage; the first stage has 64 channels, and each block has four times its own as output.
_BLOCKS = (3, 4, 6, 3)
_WIDTH = 64

# Parameters without the last layer: 25,557,032 with that of 1,000 classes, as torchvision's `resnet50` counts them
# (https://pytorch.org/vision/stable/models/generated/torchvision.models.resnet50.html).
_PARAMETERS = 23_508_032

_GIVE = "give the model.keras of a finished run of training.resnet50"
_KERAS = (
    "holds Keras's ResNet-50, which is another network: its convolutions have biases, and it is v1, whose blocks have "
    "their stride in the first 1x1 convolution"
)
_FIRST_LAYER_OF_KERAS = "conv1_conv"

# In the format `.keras`, a zip file (keras/src/saving/saving_lib.py, read in Keras 2.15.0).
_WEIGHTS = "model.weights.h5"
# The weights of a classifier are a tenth of it.
_MOST_BYTES = 2**30
_KINDS = {tf.keras.layers.Conv2D: "conv2d", tf.keras.layers.BatchNormalization: "batch_normalization"}
_HEAD = "layers/dense/"
_BIAS = "layers/conv2d/vars/1"

#: Weights of the classifier, and so the gradients of its step: 53 convolutions, each with a scale and a shift, and the
#: last layer's weights and bias.
VARIABLES = 53 * 3 + 2


def build(image_size: int, classes: int) -> tf.keras.Model:
    """Return the network under Keras's present precision policy; its logits are float32 in any case.

    Args:
        image_size: Pixels of each side of the images, [batch, image_size, image_size, 3].
        classes: Outputs, [batch, classes].
    """
    model = network(image_size, classes, _BLOCKS, _WIDTH)
    count = sum(int(tf.size(weight)) for weight in model.trainable_weights)
    expected = _PARAMETERS + 4 * 512 * classes + classes
    if count != expected:
        raise AssertionError(f"ResNet-50 with {classes} classes has {expected:,} parameters, but this has {count:,}")
    return model


def network(image_size: int, classes: int, blocks: Sequence[int], width: int) -> tf.keras.Model:
    """Return a network of bottleneck blocks.

    Args:
        image_size: Pixels of each side.
        classes: Outputs.
        blocks: How many in each stage.
        width: Channels inside the first stage's blocks; every stage doubles them.
    """
    layers = tf.keras.layers
    images = tf.keras.Input((image_size, image_size, 3))
    *_, x = _stages(images, blocks, width)
    # In float32: sums and the softmax lose too much in float16.
    x = layers.GlobalAveragePooling2D(dtype="float32")(x)
    # Small weights: the first outputs are almost equal, so the first loss is ln(classes).
    head = tf.keras.initializers.RandomNormal(stddev=0.01)
    logits = layers.Dense(classes, kernel_initializer=head, dtype="float32")(x)
    return tf.keras.Model(images, logits)


def backbone(
    *, frozen_stages: int, frozen_normalization: bool, blocks: Sequence[int] = _BLOCKS, width: int = _WIDTH
) -> tf.keras.Model:
    """Return the network without its head, from images of any size to the outputs [C2, C3, C4, C5] of its stages.

    Their sides are a 4th, an 8th, a 16th and a 32nd of the image's, rounded up; their channels are 256 to 2,048.

    Args:
        frozen_stages: How many stages do not learn, counted from the images; the first is the 7x7 convolution alone.
            Mask R-CNN freezes 2.
        frozen_normalization: Whether batch normalization keeps its statistics, scale and shift in every stage, as it
            must where a step has a few images.
        blocks: How many in each stage. Default: ResNet-50's.
        width: Channels inside the first stage's blocks; every stage doubles them, and its output has four times them.
            Default: ResNet-50's.
    """
    images = tf.keras.Input((None, None, 3))
    stages = _stages(images, blocks, width)
    model = tf.keras.Model(images, stages[1:], name="backbone")
    frozen = tf.keras.Model(images, stages[frozen_stages - 1]).layers if frozen_stages else []
    for layer in model.layers:
        if layer in frozen or (frozen_normalization and isinstance(layer, tf.keras.layers.BatchNormalization)):
            layer.trainable = False
    return model


def load(model: tf.keras.Model, path: Path) -> None:
    """Set the weights of a backbone to those of a trained classifier.

    It reads arrays alone, and not the model: Keras would run the code that the file of a model can contain, such as
    that of a Lambda layer.

    Args:
        model: From `backbone`.
        path: The `model.keras` in the output folder of a finished run.

    Raises:
        UserError: It cannot be read, or holds another network.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if (size := archive.getinfo(_WEIGHTS).file_size) > _MOST_BYTES:
                raise ValueError(f"it has {size} bytes of weights")
            with h5py.File(io.BytesIO(archive.read(_WEIGHTS))) as file:
                stored = _arrays(file)
    except (OSError, EOFError, ValueError, LookupError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        if _has_weights_of_keras(path):
            raise UserError(f"{path} {_KERAS}; {_GIVE}") from error
        raise UserError(f"{path} cannot be read as a model ({error}); {_GIVE}") from error
    if _BIAS in stored:
        raise UserError(f"{path} {_KERAS}; {_GIVE}")
    weights = _weights_of_stages(model)
    if {name: array.shape for name, array in stored.items()} != {name: each.shape for name, each in weights.items()}:
        raise UserError(f"{path} holds another network; {_GIVE}")
    for name, weight in weights.items():
        weight.assign(stored[name])


def _arrays(file: h5py.File) -> dict[str, NDArray[np.float32]]:
    """Return the weights in a file by their names, without those of the head."""
    found: dict[str, NDArray[np.float32]] = {}

    # It follows no link, which can lead to another file.
    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith(_HEAD):
            if item.external or item.is_virtual:
                raise ValueError(f"{name} is in another file")
            # A file of a few bytes can hold arrays of terabytes.
            if item.nbytes + sum(each.nbytes for each in found.values()) > _MOST_BYTES:
                raise ValueError(f"it has more than {_MOST_BYTES} bytes with {name}")
            found[name] = item[()]

    file.visititems(visit)
    return found


def _weights_of_stages(model: tf.keras.Model) -> dict[str, tf.Variable]:
    """Return the weights by the names that Keras gives them in a file: kind of layer, its number, the weight's number.

    The numbers of the layers are those of their order in the model, whatever is frozen.
    """
    found: dict[str, tf.Variable] = {}
    numbers = dict.fromkeys(_KINDS, 0)
    for layer in model.layers:
        if type(layer) in numbers:
            number = numbers[type(layer)]
            numbers[type(layer)] += 1
            prefix = f"layers/{_KINDS[type(layer)]}{f'_{number}' * bool(number)}/vars"
            found |= {f"{prefix}/{place}": weight for place, weight in enumerate(layer.weights)}
    return found


def _has_weights_of_keras(path: Path) -> bool:
    """Return whether it is an HDF5 file with Keras's network, or with its weights alone, as Keras downloads them."""
    if not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as file:
        return _FIRST_LAYER_OF_KERAS in file.get("model_weights", file)


def _stages(images: tf.Tensor, blocks: Sequence[int], width: int) -> list[tf.Tensor]:
    """Return the output of the first convolution, after its pooling, and of each stage of blocks."""
    layers = tf.keras.layers
    x = _normalized(_convolution(images, width, 7, strides=2))
    x = layers.MaxPooling2D(3, strides=2, padding="same")(layers.ReLU()(x))
    outputs = [x]
    for stage, count in enumerate(blocks):
        for block in range(count):
            x = _bottleneck(x, width * 2**stage, strides=2 if stage > 0 and block == 0 else 1)
        outputs.append(x)
    return outputs


def _bottleneck(x: tf.Tensor, width: int, strides: int) -> tf.Tensor:
    layers = tf.keras.layers
    shortcut = x
    if strides != 1 or x.shape[-1] != 4 * width:
        shortcut = _normalized(_convolution(x, 4 * width, 1, strides=strides))
    x = layers.ReLU()(_normalized(_convolution(x, width, 1)))
    # v1.5: the stride is here, where the convolution still reads all pixels.
    x = layers.ReLU()(_normalized(_convolution(x, width, 3, strides=strides)))
    x = _normalized(_convolution(x, 4 * width, 1))
    return layers.ReLU()(layers.Add()([x, shortcut]))


def _convolution(x: tf.Tensor, channels: int, size: int, strides: int = 1) -> tf.Tensor:
    start = tf.keras.initializers.VarianceScaling(2.0, distribution="truncated_normal")
    layer = tf.keras.layers.Conv2D(channels, size, strides, padding="same", use_bias=False, kernel_initializer=start)
    return layer(x)


def _normalized(x: tf.Tensor) -> tf.Tensor:
    return tf.keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
