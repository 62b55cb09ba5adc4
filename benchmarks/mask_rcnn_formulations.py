"""ROI align and a step of Mask R-CNN, by this project and by the usual TensorFlow operations: `make bench-roi-align`.

The usual formulation is that of public TensorFlow implementations: each level's boxes are selected, moved so that
`tf.image.crop_and_resize` samples at the places of ROI align from features with a border, cut to twice the bins and
averaged by 2 x 2; then the levels are joined and brought into the boxes' order. Both have the same results.

Both run alternately in one process on one core, so that other load of the machine affects both. The time is that of
the processor. The first round is not counted.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from unittest import mock

# Before TensorFlow starts its threads, which then all run on this core.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from training.coco.batches import Batch  # noqa: E402
from training.mask_rcnn import losses as losses_module  # noqa: E402
from training.mask_rcnn import roi_align as own  # noqa: E402
from training.mask_rcnn.architecture import RESNET50_FPN, SMALL  # noqa: E402
from training.mask_rcnn.heads import BOX_BINS  # noqa: E402
from training.mask_rcnn.model import build  # noqa: E402

ROUNDS = 15
HEIGHT, WIDTH = 800, 1088
SMALL_HEIGHT, SMALL_WIDTH, SMALL_IMAGES, OBJECTS = 128, 160, 4, 100
# The differences are those of float32 in another order, for features of deviation 1 and their gradients.
# The step must not be slower; other load of the machine moves its ratio by some percent.
LEAST, LEAST_OF_STEP, MOST_DIFFERENCE = 1.5, 0.95, 1e-2

RoiAlign = Callable[[Sequence[tf.Tensor], tf.Tensor, int, int], tf.Tensor]


def usual(pyramid: Sequence[tf.Tensor], boxes: tf.Tensor, bins: int, pooling_size: int) -> tf.Tensor:
    """Return the features of boxes; the arguments and the result are those of the project's `roi_align`."""
    images, count = tf.unstack(tf.shape(boxes)[:2])
    flat, chosen = tf.reshape(boxes, [-1, 4]), tf.reshape(own.levels(boxes, pooling_size), [-1])
    image = tf.repeat(tf.range(images), count)
    parts, order = [], []
    for level, features in enumerate(pyramid):
        places = tf.where(chosen == level)[:, 0]
        order.append(places)
        parts.append(_cut(features, tf.gather(flat, places) / (4 * 2**level), tf.gather(image, places), bins))
    return tf.gather(tf.concat(parts, 0), tf.math.invert_permutation(tf.concat(order, 0)))


def _cut(features: tf.Tensor, boxes: tf.Tensor, image: tf.Tensor, bins: int) -> tf.Tensor:
    # The border repeats the edge, where the operation itself would take 0.
    bordered = tf.pad(features, [[0, 0], [1, 1], [1, 1], [0, 0]], "SYMMETRIC")
    first, last = boxes[:, :2] + 0.5, boxes[:, 2:] + 0.5
    half_step = (last - first) / (4 * bins)
    last_place = tf.cast(tf.shape(bordered)[1:3] - 1, tf.float32)
    corners = tf.concat([(first + half_step) / last_place, (last - half_step) / last_place], 1)
    cut = tf.image.crop_and_resize(bordered, corners, image, [2 * bins, 2 * bins])
    return tf.nn.avg_pool2d(cut, 2, 2, "VALID")


def main() -> None:
    """Print times, ratios and differences; the exit code is 1 where a bar is missed."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    count = RESNET50_FPN.region_samples
    print(f"one core, {ROUNDS} rounds in turn after one of warm-up; CPU time, median")
    ratio, difference = compare(
        f"ROI align with gradients, {count} boxes, {HEIGHT}x{WIDTH}, {RESNET50_FPN.channels} channels", alignment
    )
    step_ratio, step_difference = compare(
        f"step of the small network, {SMALL_IMAGES} images of {SMALL_HEIGHT}x{SMALL_WIDTH}", step
    )
    if ratio < LEAST or step_ratio < LEAST_OF_STEP or max(difference, step_difference) > MOST_DIFFERENCE:
        sys.exit(
            f"error: the bars are {LEAST} x, {LEAST_OF_STEP} x for the step, and a difference of {MOST_DIFFERENCE}"
        )


def compare(title: str, make: Callable[[RoiAlign], Callable[[], list[tf.Tensor]]]) -> tuple[float, float]:
    """Print and return how many times as long the usual formulation takes, and the largest difference."""
    contenders = {"usual": make(usual), "this project": make(own.roi_align)}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    results = {name: run() for name, run in contenders.items()}
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            started = time.process_time()
            run()
            seconds[name].append(time.process_time() - started)
    pairs = zip(results["usual"], results["this project"], strict=True)
    difference = max(float(tf.reduce_max(tf.abs(one - other))) for one, other in pairs)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    ratio = statistics.median(one / other for one, other in zip(*seconds.values(), strict=True))
    print(f"{title}:")
    for name, each in seconds.items():
        print(f"  {name:13} {medians[name] * 1000:7.1f} ms [{min(each) * 1000:.1f} to {max(each) * 1000:.1f}]")
    print(f"  usual / this project: {ratio:.2f}, median of pairs; largest difference {difference:.1e}", flush=True)
    return ratio, difference


def alignment(roi_align: RoiAlign) -> Callable[[], list[tf.Tensor]]:
    """Return the features of boxes of all sizes, and the gradient of the pyramid."""
    random = np.random.default_rng(0)
    shapes = [(1, HEIGHT // stride, WIDTH // stride, RESNET50_FPN.channels) for stride in (4, 8, 16, 32)]
    pyramid = [tf.constant(random.normal(size=shape), tf.float32) for shape in shapes]
    count = RESNET50_FPN.region_samples
    side = np.exp(random.uniform(np.log(16), np.log(600), count))
    aspect = np.exp(random.normal(0, 0.4, count))
    extents = np.minimum(np.stack([side * aspect, side / aspect], 1), [HEIGHT, WIDTH])
    corners = random.uniform(0, 1, (count, 2)) * ([HEIGHT, WIDTH] - extents)
    boxes = tf.constant(np.concatenate([corners, corners + extents], 1)[np.newaxis], tf.float32)
    upstream = tf.constant(random.normal(size=(count, BOX_BINS, BOX_BINS, RESNET50_FPN.channels)), tf.float32)

    @tf.function(autograph=False)
    def both() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(pyramid)
            features = roi_align(pyramid, boxes, BOX_BINS, RESNET50_FPN.pooling_size)
        gradients = tape.gradient(features, pyramid, upstream)
        return [features, *(tf.convert_to_tensor(gradient) for gradient in gradients)]

    compiled: Callable[[], list[tf.Tensor]] = both
    return compiled


def step(roi_align: RoiAlign) -> Callable[[], list[tf.Tensor]]:
    """Return the losses of a step and the gradients of all weights; it does not change them."""
    tf.keras.utils.set_random_seed(0)
    model, batch = build(SMALL), made_images()

    @tf.function(autograph=False)
    def both() -> list[tf.Tensor]:
        with mock.patch.object(losses_module, "roi_align", roi_align), tf.GradientTape() as tape:
            losses = losses_module.losses(model, batch, SMALL)
            total = tf.add_n(list(losses.values()))
        gradients = tape.gradient(total, model.trainable_variables)
        return [*losses.values(), *(tf.convert_to_tensor(gradient) for gradient in gradients)]

    compiled: Callable[[], list[tf.Tensor]] = both
    return compiled


def made_images() -> Batch:
    """Return random images with four rectangles each."""
    random = np.random.default_rng(0)
    images = random.integers(256, size=(SMALL_IMAGES, SMALL_HEIGHT, SMALL_WIDTH, 3), dtype=np.uint8)
    boxes, labels = np.zeros((SMALL_IMAGES, OBJECTS, 4), np.float32), np.zeros((SMALL_IMAGES, OBJECTS), np.int32)
    corners = random.uniform(0, 60, (SMALL_IMAGES, 4, 2))
    boxes[:, :4] = np.concatenate([corners, corners + random.uniform(20, 64, (SMALL_IMAGES, 4, 2))], -1)
    labels[:, :4] = random.integers(1, SMALL.classes + 1, (SMALL_IMAGES, 4))
    masks = np.ones((SMALL_IMAGES, OBJECTS, 112, 112), np.uint8)
    sizes = np.tile(np.array([SMALL_HEIGHT, SMALL_WIDTH], np.int32), [SMALL_IMAGES, 1])
    keys = random.integers(2**31, size=(SMALL_IMAGES, 2)).astype(np.int32)
    others = (np.arange(SMALL_IMAGES), sizes, np.ones(SMALL_IMAGES, np.float32))
    return Batch(*(tf.constant(each) for each in (images, sizes, boxes, labels, masks, keys, *others)))


if __name__ == "__main__":
    main()
