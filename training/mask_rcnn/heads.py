"""The parts that learn beside the backbone: feature pyramid, region proposal network, box head and mask head.

Each is a model of layers alone. Weights begin near those of Detectron2 (https://github.com/facebookresearch/detectron2):
where that has Caffe's uniform distribution, these have Glorot's, whose variance is up to 1.85 times as large (derived).
"""

import tensorflow as tf

from training.mask_rcnn.architecture import Architecture

#: Height and width of the features that the box head and the mask head receive.
BOX_BINS, MASK_BINS = 7, 14

#: Height and width of a predicted mask.
MASK_SIDE = 2 * MASK_BINS


def pyramid(images: tf.Tensor, backbone: tf.keras.Model, architecture: Architecture) -> tf.keras.Model:
    """Return the model from images to P2, P3, P4, P5 and P6: https://arxiv.org/abs/1612.03144.

    Args:
        images: The input, whose sides are multiples of 32.
        backbone: To C2, C3, C4 and C5.
        architecture: Its channels.
    """
    layers = tf.keras.layers
    lateral = [
        _convolution(architecture.channels, 1, "glorot_uniform", f"lateral{level}")(stage)
        for level, stage in enumerate(backbone(images), start=2)
    ]
    merged = [lateral.pop()]
    while lateral:
        # Each value four times, as 2 x 2. XLA does not compile the gradient of `UpSampling2D`.
        larger = tf.nn.depth_to_space(layers.Concatenate()([merged[0]] * 4), 2)
        merged.insert(0, layers.Add()([lateral.pop(), larger]))
    outputs = [
        _convolution(architecture.channels, 3, "glorot_uniform", f"output{level}")(each)
        for level, each in enumerate(merged, start=2)
    ]
    return tf.keras.Model(images, [*outputs, layers.MaxPooling2D(1, strides=2)(outputs[-1])], name="pyramid")


def region_proposal_network(architecture: Architecture) -> tf.keras.Model:
    """Return the model from one level to a logit and four differences for each anchor of each place."""
    features = tf.keras.Input((None, None, architecture.channels))
    x = _convolution(architecture.channels, 3, _normal(0.01), "hidden", activation="relu")(features)
    anchors = len(architecture.anchor_ratios)
    logits = _convolution(anchors, 1, _normal(0.01), "logits")(x)
    outputs = [logits, _convolution(4 * anchors, 1, _normal(0.01), "deltas")(x)]
    return tf.keras.Model(features, outputs, name="region_proposal_network")


def box_head(architecture: Architecture) -> tf.keras.Model:
    """Return the model from a box's features to a logit of background and of each class, and each class's differences.

    In float32: its last layers.
    """
    layers = tf.keras.layers
    features = tf.keras.Input((BOX_BINS, BOX_BINS, architecture.channels))
    x = layers.Flatten()(features)
    for name in ("hidden1", "hidden2"):
        x = layers.Dense(architecture.box_width, activation="relu", name=name)(x)
    logits = layers.Dense(1 + architecture.classes, kernel_initializer=_normal(0.01), dtype="float32", name="logits")
    deltas = layers.Dense(4 * architecture.classes, kernel_initializer=_normal(0.001), dtype="float32", name="deltas")
    shaped = layers.Reshape((architecture.classes, 4), dtype="float32")
    return tf.keras.Model(features, [logits(x), shaped(deltas(x))], name="box_head")


def mask_head(architecture: Architecture) -> tf.keras.Model:
    """Return the model from a box's features to the logits of each class's mask, [MASK_SIDE, MASK_SIDE, classes]."""
    features = x = tf.keras.Input((MASK_BINS, MASK_BINS, architecture.channels))
    for number in range(architecture.mask_convolutions):
        x = _convolution(architecture.mask_channels, 3, _of_outputs(), f"hidden{number + 1}", activation="relu")(x)
    larger = tf.keras.layers.Conv2DTranspose(
        architecture.mask_channels, 2, strides=2, activation="relu", kernel_initializer=_of_outputs(), name="larger"
    )
    logits = _convolution(architecture.classes, 1, _normal(0.001), "logits")(larger(x))
    return tf.keras.Model(features, logits, name="mask_head")


def _normal(deviation: float) -> tf.keras.initializers.Initializer:
    # A new one for each layer: an initializer gives each layer of one shape the same weights.
    return tf.keras.initializers.RandomNormal(stddev=deviation)


def _of_outputs() -> tf.keras.initializers.Initializer:
    return tf.keras.initializers.VarianceScaling(2.0, mode="fan_out", distribution="untruncated_normal")


def _convolution(
    channels: int, size: int, start: str | tf.keras.initializers.Initializer, name: str, activation: str | None = None
) -> tf.keras.layers.Conv2D:
    return tf.keras.layers.Conv2D(
        channels, size, padding="same", activation=activation, kernel_initializer=start, name=name
    )
