"""Mask R-CNN as one Keras model, which trains, is saved and is loaded like any other: https://arxiv.org/abs/1703.06870.

Its parts are models inside it. The steps between them (proposals, sampling, ROI align) have no weights and stand in
functions, in `losses` and `detection`.
"""

from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from training.imagenet.image_decoding import to_float
from training.mask_rcnn import heads
from training.mask_rcnn.architecture import Architecture
from training.mask_rcnn.recipe import MOMENTUM
from training.resnet50 import model as resnet50
from training.runtime import elastic
from training.runtime.network import Network, make_network


class Outputs(NamedTuple):
    """The outputs of the network for whole images.

    Attributes:
        pyramid: P2 to P5.
        logits: Logits of whether an anchor is an object, of P2 to P6, float32 [B, A].
        deltas: From the anchors to the objects, of P2 to P6, float32 [B, A, 4].
    """

    pyramid: list[tf.Tensor]
    logits: list[tf.Tensor]
    deltas: list[tf.Tensor]


def build(architecture: Architecture) -> tf.keras.Model:
    """Return the network under Keras's present precision policy.

    Without a trained backbone nothing of it may be frozen: frozen random weights do not learn.
    """
    images = tf.keras.Input((None, None, 3))
    backbone = resnet50.backbone(
        frozen_stages=architecture.frozen_stages,
        frozen_normalization=architecture.frozen_normalization,
        blocks=architecture.blocks,
        width=architecture.width,
    )
    pyramid = heads.pyramid(images, backbone, architecture)
    proposer = heads.region_proposal_network(architecture)
    box_head, mask_head = heads.box_head(architecture), heads.mask_head(architecture)
    levels = pyramid(images)
    inputs = [images, *(tf.keras.Input(head.input_shape[1:]) for head in (box_head, mask_head))]
    outputs = [*(proposer(level) for level in levels), box_head(inputs[1]), mask_head(inputs[2])]
    return tf.keras.Model(inputs, outputs, name="mask_rcnn")


def network_of(architecture: Architecture, precision: str | None, backbone: Path | None) -> Network:
    """Return the network with its optimizer; every rank must call it where a backbone is given.

    Args:
        architecture: Architecture of the network.
        precision: Given as '--precision'.
        backbone: Given as '--backbone'.

    Raises:
        UserError: The backbone cannot be read, or is of another network.
    """
    tf.keras.mixed_precision.set_global_policy(precision)
    made = build(architecture)
    if backbone is not None:
        elastic.before_run(lambda: resnet50.load(made.get_layer("pyramid").get_layer("backbone"), backbone))
    return make_network(made, MOMENTUM)


def of_images(model: tf.keras.Model, images: tf.Tensor, sizes: tf.Tensor, training: bool) -> Outputs:
    """Run the parts that see whole images.

    Args:
        model: From `build`.
        images: uint8 [B, H, W, 3]; H and W are multiples of 32.
        sizes: Height and width of each image without its padding, int32 [B, 2].
        training: Whether batch normalization that is not frozen takes the statistics of this batch.
    """
    *levels, last = model.get_layer("pyramid")(_network_input(images, sizes, model.compute_dtype), training=training)
    proposer = model.get_layer("region_proposal_network")
    batch = tf.shape(images)[0] if images.shape[0] is None else images.shape[0]
    logits, deltas = [], []
    for level in (*levels, last):
        of_level = proposer(level, training=training)
        logits.append(tf.reshape(tf.cast(of_level[0], tf.float32), [batch, -1]))
        deltas.append(tf.reshape(tf.cast(of_level[1], tf.float32), [batch, -1, 4]))
    return Outputs(levels, logits, deltas)


def _network_input(images: tf.Tensor, sizes: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Normalize the images; the padding becomes 0, the mean, as convolutions pad."""
    rows, columns = (tf.range(images.shape[axis + 1])[tf.newaxis] < sizes[:, axis, tf.newaxis] for axis in (0, 1))
    valid = rows[:, :, tf.newaxis, tf.newaxis] & columns[:, tf.newaxis, :, tf.newaxis]
    normalized = to_float(images, None, dtype)
    return tf.where(valid, normalized, tf.zeros([], normalized.dtype))
