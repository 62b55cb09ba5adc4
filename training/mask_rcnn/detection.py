"""From images to objects: boxes, classes, scores and masks."""

from typing import NamedTuple

import tensorflow as tf

from training.mask_rcnn import boxes as box
from training.mask_rcnn import heads
from training.mask_rcnn.anchors import anchors, inside
from training.mask_rcnn.architecture import Architecture
from training.mask_rcnn.model import of_images
from training.mask_rcnn.proposals import NO_SCORE, Proposals, propose, suppress
from training.mask_rcnn.roi_align import roi_align

#: The most of an image: COCO's metric counts no more.
DETECTIONS = 100

#: The values of the paper's reference code.
LEAST_SCORE, MOST_OVERLAP = 0.05, 0.5

# Of all proposals and classes, the best scores compete: a trained network has fewer above LEAST_SCORE, and time and
# memory of the suppression grow with the square of their number.
_CANDIDATES = 4096


class Detections(NamedTuple):
    """Objects of images, the best first; places without one are 0.

    Attributes:
        boxes: Pixels of the padded image, float32 [B, D, 4].
        scores: float32 [B, D].
        labels: 1 and more; 0 for no object, int32 [B, D].
        masks: Probability on the cells of the box, float32 [B, D, 28, 28].
    """

    boxes: tf.Tensor
    scores: tf.Tensor
    labels: tf.Tensor
    masks: tf.Tensor


def detect(model: tf.keras.Model, images: tf.Tensor, sizes: tf.Tensor, architecture: Architecture) -> Detections:
    """Return the objects of images.

    Args:
        model: From `training.mask_rcnn.model.build`.
        images: uint8 [B, H, W, 3]; B, H and W are static, H and W multiples of 32.
        sizes: Height and width of each image without its padding, int32 [B, 2].
        architecture: The model's.
    """
    outputs = of_images(model, images, sizes, training=False)
    levels = anchors(architecture, images.shape[1], images.shape[2])
    allowed = [inside(level, sizes) for level in levels]
    proposals = propose(outputs.logits, outputs.deltas, levels, allowed, sizes, architecture.detection_boxes)
    features = roi_align(outputs.pyramid, proposals.boxes, heads.BOX_BINS, architecture.pooling_size)
    logits, deltas = model.get_layer("box_head")(features, training=False)
    boxes, scores, labels = _best(proposals, logits, deltas, sizes, architecture.classes)
    features = roi_align(outputs.pyramid, boxes, heads.MASK_BINS, architecture.pooling_size)
    masks = tf.cast(model.get_layer("mask_head")(features, training=False), tf.float32)
    own = tf.gather(masks, tf.reshape(tf.maximum(labels - 1, 0), [-1]), axis=3, batch_dims=1)
    own = tf.reshape(tf.sigmoid(own), [*labels.shape, heads.MASK_SIDE, heads.MASK_SIDE])
    return Detections(boxes, scores, labels, tf.where((labels > 0)[..., tf.newaxis, tf.newaxis], own, 0.0))


def _best(
    proposals: Proposals, logits: tf.Tensor, deltas: tf.Tensor, sizes: tf.Tensor, classes: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return boxes, scores and labels of the best classes of the best proposals."""
    images, count = proposals.valid.shape
    scores = tf.reshape(tf.nn.softmax(logits), [images, count, 1 + classes])[..., 1:]
    scores = tf.where(proposals.valid[..., tf.newaxis] & (scores > LEAST_SCORE), scores, NO_SCORE)
    found = tf.math.top_k(tf.reshape(scores, [images, -1]), min(_CANDIDATES, count * classes))
    deltas = tf.gather(tf.reshape(deltas, [images, -1, 4]), found.indices, batch_dims=1)
    origins = tf.gather(proposals.boxes, found.indices // classes, batch_dims=1)
    boxes = box.clip(box.decode(deltas, origins, box.REGION_WEIGHTS), sizes)
    of_class = found.indices % classes
    values = tf.where(box.areas(boxes) > 0, found.values, NO_SCORE)
    kept, valid = suppress(boxes, values, tf.cast(of_class, tf.float32), MOST_OVERLAP, DETECTIONS)
    return (
        tf.where(valid[..., tf.newaxis], tf.gather(boxes, kept, batch_dims=1), 0.0),
        tf.where(valid, tf.gather(values, kept, batch_dims=1), 0.0),
        tf.where(valid, tf.gather(of_class, kept, batch_dims=1) + 1, 0),
    )
