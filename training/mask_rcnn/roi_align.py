"""ROI align: the features of boxes, from bilinear samples, without rounding a coordinate.

https://arxiv.org/abs/1703.06870, section 3, as Detectron2's `ROIAlignV2` defines it: the value of a pixel is at its
centre, and each bin is the mean of 2 x 2 samples. A sample up to one pixel outside the features takes the nearest
value, and one further outside is 0.

A bin is a sum of 4 x 4 places with weights, because rows and columns are independent. `places` calculates them, and
`_weighted_sums` adds: on the CPU as a product with a sparse matrix, whose gradient is the product with its transpose;
otherwise as 16 gathers, which XLA compiles (it has no sparse product). `make bench-roi-align` measures the first.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from training.mask_rcnn.anchors import STRIDES

# In each direction, as in the configurations of the paper's code (Detectron); a number that adapts has no static shape.
_SAMPLES = 2
_PLACES = 2 * _SAMPLES
# The levels P2 to P5: P6 only proposes.
_LEVELS = 4


class Places(NamedTuple):
    """The parts of the bins.

    Attributes:
        rows: Rows of the table of features, int32 [R, bins x bins, 16].
        weights: float32 [R, bins x bins, 16].
    """

    rows: tf.Tensor
    weights: tf.Tensor


class Grids(NamedTuple):
    """Where in the table of features the values are that belong to each box.

    Attributes:
        first: Row of the table, int32 [R].
        heights: Heights of the features, int32 [R].
        widths: Widths of the features, int32 [R]; the table has row after row of them.
    """

    first: tf.Tensor
    heights: tf.Tensor
    widths: tf.Tensor


def levels(boxes: tf.Tensor, pooling_size: int) -> tf.Tensor:
    """Return the level of each box, 0 for P2 to 3 for P5, [..., 4] to int32 [...]: equation 1 of the pyramid's paper.

    https://arxiv.org/abs/1612.03144, with `pooling_size` for 224.
    """
    extents = tf.maximum(boxes[..., 2:] - boxes[..., :2], 1e-6)
    exponent = tf.math.log(tf.sqrt(extents[..., 0] * extents[..., 1]) / pooling_size) / math.log(2)
    # A logarithm of 2 to a whole number is not exact.
    return tf.clip_by_value(2 + tf.cast(tf.floor(exponent + 1e-6), tf.int32), 0, _LEVELS - 1)


def roi_align(pyramid: Sequence[tf.Tensor], boxes: tf.Tensor, bins: int, pooling_size: int) -> tf.Tensor:
    """Return the features of boxes, each from the level for its size.

    Args:
        pyramid: P2 to P5, [B, height, width, channels]; a part of these shapes that is static must be so in all.
        boxes: float32 [B, R, 4], pixels.
        bins: Height and width of the result.
        pooling_size: For `levels`.

    Returns:
        [B x R, bins, bins, channels] of the features' type; calculated in float32.
    """
    shapes = [tuple(features.shape) for features in pyramid]
    images, channels = shapes[0][0], shapes[0][3]
    places = [height * width for _, height, width, _ in shapes]
    table = tf.concat([tf.reshape(features, [images, -1, channels]) for features in pyramid], 1)
    chosen = levels(boxes, pooling_size)
    image = tf.range(images)[:, tf.newaxis] * sum(places)
    before = [sum(places[:level]) for level in range(_LEVELS)]
    grids = Grids(
        first=tf.reshape(image + tf.gather(before, chosen), [-1]),
        heights=tf.reshape(tf.gather([height for _, height, _, _ in shapes], chosen), [-1]),
        widths=tf.reshape(tf.gather([width for _, _, width, _ in shapes], chosen), [-1]),
    )
    strides = tf.gather(tf.constant(STRIDES[:_LEVELS], tf.float32), chosen)
    scaled = tf.reshape(boxes / strides[..., tf.newaxis], [-1, 4])
    return aligned(tf.reshape(table, [-1, channels]), grids, scaled, bins)


def aligned(table: tf.Tensor, grids: Grids, boxes: tf.Tensor, bins: int) -> tf.Tensor:
    """Return the features of boxes from a table.

    Args:
        table: Features, [places, channels].
        grids: Where those of each box are.
        boxes: In places of the features instead of pixels, float32 [R, 4]; no gradient reaches them.
        bins: Height and width of the result.

    Returns:
        [R, bins, bins, channels].
    """
    sums = _weighted_sums(tf.cast(table, tf.float32), places(grids, tf.stop_gradient(boxes), bins))
    return tf.cast(tf.reshape(sums, [-1, bins, bins, table.shape[1]]), table.dtype)


def places(grids: Grids, boxes: tf.Tensor, bins: int) -> Places:
    """Return the rows of the table that make each bin, and their weights; the arguments of `aligned`."""
    y, y_weights = _along(boxes[:, 0], boxes[:, 2], grids.heights, bins)
    x, x_weights = _along(boxes[:, 1], boxes[:, 3], grids.widths, bins)
    y = grids.first[:, tf.newaxis, tf.newaxis] + y * grids.widths[:, tf.newaxis, tf.newaxis]
    rows = y[:, :, tf.newaxis, :, tf.newaxis] + x[:, tf.newaxis, :, tf.newaxis, :]
    weights = y_weights[:, :, tf.newaxis, :, tf.newaxis] * x_weights[:, tf.newaxis, :, tf.newaxis, :]
    shape = [-1, bins * bins, _PLACES * _PLACES]
    return Places(tf.reshape(rows, shape), tf.reshape(weights, shape))


def _along(begin: tf.Tensor, end: tf.Tensor, length: tf.Tensor, bins: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the places of each bin in one direction and their weights, [R, bins, 4]."""
    count = bins * _SAMPLES
    steps = (tf.range(count, dtype=tf.float32) + 0.5) / count
    # Minus a half: coordinate 0 is a pixel's edge, and place 0 its centre.
    position = begin[:, tf.newaxis] + (end - begin)[:, tf.newaxis] * steps - 0.5
    last = length[:, tf.newaxis] - 1
    counted = (position >= -1) & (position <= tf.cast(last + 1, tf.float32))
    position = tf.clip_by_value(position, 0.0, tf.cast(last, tf.float32))
    # The second limit is for boxes that are not finite: their features are not either, but their places must exist.
    low = tf.clip_by_value(tf.cast(position, tf.int32), 0, last)
    fraction = position - tf.cast(low, tf.float32)
    share = tf.where(counted, 1 / _SAMPLES, 0.0)
    both = tf.stack([low, tf.minimum(low + 1, last)], -1), tf.stack([(1 - fraction) * share, fraction * share], -1)
    return tf.reshape(both[0], [-1, bins, _PLACES]), tf.reshape(both[1], [-1, bins, _PLACES])


def _weighted_sums(table: tf.Tensor, places: Places) -> tf.Tensor:
    """Return the sums of rows of a table, [places, channels] to [R, bins x bins, channels]."""
    if _on_cpu():
        return _sparse_product(table, places)
    rows, weights = tf.unstack(places.rows, axis=-1), tf.unstack(places.weights[..., tf.newaxis], axis=-2)
    return tf.add_n([tf.gather(table, row) * weight for row, weight in zip(rows, weights, strict=True)])


def _sparse_product(table: tf.Tensor, places: Places) -> tf.Tensor:
    boxes, bins, count = tf.unstack(tf.shape(places.rows))
    results = tf.repeat(tf.range(boxes * bins), count)
    indices = tf.cast(tf.stack([results, tf.reshape(places.rows, [-1])], 1), tf.int64)
    shape = tf.cast(tf.stack([boxes * bins, tf.shape(table)[0]]), tf.int64)
    matrix = tf.SparseTensor(indices, tf.reshape(places.weights, [-1]), shape)
    return tf.reshape(tf.sparse.sparse_dense_matmul(matrix, table), tf.stack([boxes, bins, -1]))


def _on_cpu() -> bool:
    return not tf.config.get_visible_devices("GPU")
