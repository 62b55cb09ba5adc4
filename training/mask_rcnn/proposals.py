"""Proposals: the boxes that the region proposal network takes for objects, without those that overlap a better one."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from training.mask_rcnn import boxes as box
from training.mask_rcnn.architecture import Boxes

#: The overlap with a better box that removes a proposal; the value of the paper and of Detectron2.
MOST_OVERLAP = 0.7

# The score of a place that must not be chosen, below those that a network gives; finite, because sorting compares it.
NO_SCORE = -1e9


class Proposals(NamedTuple):
    """Boxes of images, the best first.

    Attributes:
        boxes: float32 [B, P, 4]; 0 where there is none.
        valid: bool [B, P].
    """

    boxes: tf.Tensor
    valid: tf.Tensor


def propose(
    logits: Sequence[tf.Tensor],
    deltas: Sequence[tf.Tensor],
    anchors: Sequence[tf.Tensor],
    inside: Sequence[tf.Tensor],
    sizes: tf.Tensor,
    limits: Boxes,
) -> Proposals:
    """Return the proposals of images; no gradient passes.

    Args:
        logits: Logits of P2 to P6, float32 [B, A].
        deltas: Deltas of P2 to P6, float32 [B, A, 4].
        anchors: Anchors of P2 to P6, [A, 4].
        inside: Anchors of P2 to P6 outside the padding, bool [B, A].
        sizes: Sizes of the images without padding, int32 [B, 2].
        limits: How many.
    """
    best = [_best(*level, limits.before) for level in zip(logits, deltas, anchors, inside, strict=True)]
    scores = tf.concat([level_scores for level_scores, _ in best], 1)
    boxes = box.clip(tf.concat([level_boxes for _, level_boxes in best], 1), sizes)
    # A value that is not finite would be a place that does not exist; the step is not applied anyway.
    sound = (box.areas(boxes) > 0) & tf.reduce_all(tf.math.is_finite(boxes), -1) & tf.math.is_finite(scores)
    scores, boxes = tf.where(sound, scores, NO_SCORE), tf.where(sound[..., tf.newaxis], boxes, 0.0)
    levels = tf.concat([tf.fill(tf.shape(part), float(level)) for level, (part, _) in enumerate(best)], 1)
    indices, valid = suppress(boxes, scores, levels, MOST_OVERLAP, limits.after)
    kept = tf.gather(boxes, indices, batch_dims=1) * tf.cast(valid[..., tf.newaxis], tf.float32)
    return Proposals(tf.stop_gradient(kept), valid)


def suppress(
    boxes: tf.Tensor, scores: tf.Tensor, groups: tf.Tensor, most_overlap: float, count: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the boxes that overlap no better one of their group.

    Args:
        boxes: [B, N, 4], not negative.
        scores: [B, N]; NO_SCORE is never chosen.
        groups: Level or class of each box, float32 [B, N].
        most_overlap: Intersection over union above which the worse one is removed.
        count: Boxes of the result.

    Returns:
        Indices, int32 [B, count], the best first, and which of them are filled, bool [B, count].
    """
    # Each group is moved to where no other one is, so that one operation suppresses all.
    moved = boxes + (groups * (tf.reduce_max(boxes) + 1.0))[..., tf.newaxis]

    def of_image(own: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        # The operation itself: `tf.image` has AutoGraph rewrite the code around it at every start.
        indices, filled = tf.raw_ops.NonMaxSuppressionV4(
            boxes=own[0],
            scores=own[1],
            max_output_size=count,
            iou_threshold=most_overlap,
            score_threshold=NO_SCORE / 2,
            pad_to_max_output_size=True,
        )
        return indices, tf.range(count) < filled

    indices, valid = tf.map_fn(of_image, (moved, scores), fn_output_signature=(tf.int32, tf.bool))
    return tf.ensure_shape(indices, [None, count]), tf.ensure_shape(valid, [None, count])


def _best(
    logits: tf.Tensor, deltas: tf.Tensor, anchors: tf.Tensor, inside: tf.Tensor, count: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return scores and boxes of a level's best anchors, [B, count] and [B, count, 4]."""
    found = tf.math.top_k(tf.where(inside, logits, NO_SCORE), min(count, int(anchors.shape[0])))
    chosen = tf.gather(deltas, found.indices, batch_dims=1)
    return found.values, box.decode(chosen, tf.gather(anchors, found.indices), box.ANCHOR_WEIGHTS)
