"""The five losses of Mask R-CNN: https://arxiv.org/abs/1703.06870.

Each is defined for an image, and the batch's is the mean of its images', so that the mean over ranks does not depend on
which rank has which image. An image without an object of a loss adds 0 to it.
"""

import math
from collections.abc import Mapping

import tensorflow as tf

from training.coco.batches import Batch
from training.mask_rcnn import boxes as box
from training.mask_rcnn import heads
from training.mask_rcnn.anchors import anchors, inside
from training.mask_rcnn.architecture import Architecture
from training.mask_rcnn.model import Outputs, of_images
from training.mask_rcnn.proposals import propose
from training.mask_rcnn.roi_align import Grids, aligned, roi_align
from training.mask_rcnn.sampling import Samples, Truth, most_objects, sample_anchors, sample_regions
from training.runtime.errors import UserError

# Up to this difference the loss is quadratic: the values of Detectron, the paper's reference code.
_ANCHOR_BETA, _REGION_BETA = 1 / 9, 1.0

# How far the first losses may be from those of a network that has learned nothing.
_FIRST_LOSS_DISTANCE = {"rpn_cls": 0.35, "cls": 1.0, "mask": 0.35}


def losses(model: tf.keras.Model, batch: Batch, architecture: Architecture) -> dict[str, tf.Tensor]:
    """Return the losses of a batch in training, float32 numbers: `rpn_cls`, `rpn_loc`, `cls`, `box_reg`, `mask`."""
    outputs = of_images(model, batch.images, batch.sizes, training=True)
    truth = Truth(batch.boxes, batch.labels)
    levels = anchors(architecture, batch.images.shape[1], batch.images.shape[2])
    allowed = [inside(level, batch.sizes) for level in levels]
    proposals = propose(outputs.logits, outputs.deltas, levels, allowed, batch.sizes, architecture.training_boxes)
    drawn = sample_anchors(tf.concat(levels, 0), tf.concat(allowed, 1), truth, batch.keys, architecture.anchor_samples)
    # The objects are candidates too: in the beginning no proposal fits one.
    candidates = tf.concat([proposals.boxes, truth.boxes], 1)
    exists = tf.concat([proposals.valid, truth.labels > 0], 1)
    regions = sample_regions(candidates, exists, truth, batch.keys, architecture.region_samples)
    boxes = tf.gather(candidates, regions.indices, batch_dims=1)
    return {
        **_of_anchors(outputs, tf.concat(levels, 0), drawn, truth),
        **_of_regions(model, outputs, boxes, regions, truth, architecture),
        **_of_masks(model, outputs, boxes, regions, batch, architecture),
    }


def _of_anchors(outputs: Outputs, anchors: tf.Tensor, drawn: Samples, truth: Truth) -> Mapping[str, tf.Tensor]:
    logits = tf.gather(tf.concat(outputs.logits, 1), drawn.indices, batch_dims=1)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(drawn.positive, tf.float32), logits)
    deltas = tf.gather(tf.concat(outputs.deltas, 1), drawn.indices, batch_dims=1)
    objects = tf.gather(truth.boxes, drawn.objects, batch_dims=1)
    targets = box.encode(objects, tf.gather(anchors, drawn.indices), box.ANCHOR_WEIGHTS)
    return {
        "rpn_cls": _mean(entropy, drawn.used, drawn.used),
        "rpn_loc": _mean(_smooth(deltas - targets, _ANCHOR_BETA), drawn.positive, drawn.used),
    }


def _of_regions(
    model: tf.keras.Model,
    outputs: Outputs,
    boxes: tf.Tensor,
    regions: Samples,
    truth: Truth,
    architecture: Architecture,
) -> Mapping[str, tf.Tensor]:
    features = roi_align(outputs.pyramid, boxes, heads.BOX_BINS, architecture.pooling_size)
    logits, deltas = model.get_layer("box_head")(features, training=True)
    labels = _labels(regions, truth)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels, tf.reshape(logits, [*labels.shape, 1 + architecture.classes])
    )
    # Only those of objects learn; they have the first places.
    most = most_objects(architecture.region_samples)
    objects = tf.gather(truth.boxes, regions.objects[:, :most], batch_dims=1)
    targets = box.encode(objects, boxes[:, :most], box.REGION_WEIGHTS)
    deltas = tf.reshape(deltas, [*labels.shape, architecture.classes, 4])[:, :most]
    of_class = tf.gather(deltas, tf.maximum(labels[:, :most] - 1, 0), batch_dims=2)
    return {
        "cls": _mean(entropy, regions.used, regions.used),
        "box_reg": _mean(_smooth(of_class - targets, _REGION_BETA), regions.positive[:, :most], regions.used),
    }


def _of_masks(
    model: tf.keras.Model,
    outputs: Outputs,
    boxes: tf.Tensor,
    regions: Samples,
    batch: Batch,
    architecture: Architecture,
) -> Mapping[str, tf.Tensor]:
    most = most_objects(architecture.region_samples)
    regions = Samples(*(each[:, :most] for each in regions))
    boxes = boxes[:, :most]
    features = roi_align(outputs.pyramid, boxes, heads.MASK_BINS, architecture.pooling_size)
    logits = tf.cast(model.get_layer("mask_head")(features, training=True), tf.float32)
    labels = _labels(regions, Truth(batch.boxes, batch.labels))
    # One class's: the classes do not compete.
    own = tf.gather(logits, tf.reshape(tf.maximum(labels - 1, 0), [-1]), axis=3, batch_dims=1)
    targets = mask_targets(batch.masks, batch.boxes, boxes, regions.objects)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(targets, tf.reshape(own, tf.shape(targets)))
    return {"mask": _mean(tf.reduce_mean(entropy, [2, 3]), regions.positive, regions.positive)}


def mask_targets(masks: tf.Tensor, objects: tf.Tensor, regions: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
    """Return the part of an object's mask inside a proposal, 0 or 1, float32 [B, R, MASK_SIDE, MASK_SIDE].

    Args:
        masks: On the cells of the objects' boxes, uint8 [B, N, M, M].
        objects: The objects' boxes, [B, N, 4].
        regions: The proposals, [B, R, 4].
        chosen: The object of each proposal, int32 [B, R].
    """
    images, count, side = masks.shape[0], masks.shape[1], masks.shape[2]
    own = tf.gather(objects, chosen, batch_dims=1)
    origin, extent = own[..., :2], tf.maximum(own[..., 2:] - own[..., :2], 1e-3)
    # From the image's pixels to the cells of the object's box.
    cells = (regions - tf.tile(origin, [1, 1, 2])) / tf.tile(extent, [1, 1, 2]) * float(side)
    number = tf.reshape(tf.range(images)[:, tf.newaxis] * count + chosen, [-1])
    same = tf.fill(tf.shape(number), side)
    grids = Grids(first=number * side * side, heights=same, widths=same)
    table = tf.cast(tf.reshape(masks, [-1, 1]), tf.float32)
    inside = aligned(table, grids, tf.reshape(cells, [-1, 4]), heads.MASK_SIDE)
    return tf.cast(tf.reshape(inside, [*chosen.shape, heads.MASK_SIDE, heads.MASK_SIDE]) >= 0.5, tf.float32)


def _labels(regions: Samples, truth: Truth) -> tf.Tensor:
    """Return the class of each sample, 0 for background."""
    return tf.where(regions.positive, tf.gather(truth.labels, regions.objects, batch_dims=1), 0)


def _smooth(difference: tf.Tensor, beta: float) -> tf.Tensor:
    """Return the sum of the four smooth L1 losses, [..., 4] to [...]."""
    size = tf.abs(difference)
    return tf.reduce_sum(tf.where(size < beta, size * size / (2 * beta), size - beta / 2), -1)


def _mean(values: tf.Tensor, counted: tf.Tensor, of: tf.Tensor) -> tf.Tensor:
    """Return the mean over images of the sum of the counted values, divided by the number of `of`; all [B, S]."""
    # Not a product with 0: other values may be infinite.
    sums = tf.reduce_sum(tf.where(counted, values, 0.0), 1)
    return tf.reduce_mean(sums / tf.maximum(tf.reduce_sum(tf.cast(of, tf.float32), 1), 1.0))


def check_first_losses(found: Mapping[str, float], classes: int) -> None:
    """Reject first losses that are not those of an untrained network.

    Half of the anchors are called objects, and each class of a proposal is as likely as the others. Without an object
    in the first images, the loss of masks is 0.

    Raises:
        UserError: Images or annotations are not those of the network.
    """
    expected = {"rpn_cls": math.log(2), "cls": math.log(1 + classes), "mask": math.log(2)}
    for name, distance in _FIRST_LOSS_DISTANCE.items():
        least = 0.0 if name == "mask" else expected[name] - distance
        if not least <= found[name] <= expected[name] + distance:
            raise UserError(
                f"the first loss '{name}' is {found[name]:.2f}, but before anything is learned it is about "
                f"{expected[name]:.2f}; check the images and the annotations, or another '--backbone'"
            )
