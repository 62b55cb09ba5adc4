"""Box and mask AP on the validation set: every rank its share of the images, and rank zero the metrics."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.coco import annotations
from training.coco.batches import Batch
from training.coco.categories import Category
from training.mask_rcnn import coco_metrics, pasted_masks
from training.mask_rcnn.architecture import Architecture
from training.mask_rcnn.coco_metrics import ImageDetections
from training.mask_rcnn.detection import Detections, detect
from training.mask_rcnn.drawings import Drawn
from training.runtime import watchdog
from training.runtime.distributed import on_rank_zero, say
from training.runtime.errors import UserError
from training.runtime.task import Evaluation

# Images that a rank sends at once: about 2 MB, so that no rank ever holds all detections but rank zero.
_CHUNK = 64

#: A compiled step: images and their sizes to detections.
DetectionStep = Callable[[tf.Tensor, tf.Tensor], Detections]


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """The annotations with which the detections are compared."""

    annotations: Path
    """Images, categories and objects of the validation set, as in COCO's JSON; rank zero alone reads it."""
    coco_ids: Sequence[int]
    """COCO's category ids by label, from label 1."""

    @classmethod
    def of_dataset(cls, folder: Path, categories: Sequence[Category]) -> "Truth":
        """Return the truth of a dataset's validation images.

        Args:
            folder: Given as '--data-dir'.
            categories: Categories of the dataset.
        """
        return cls(annotations=folder / annotations.TRUTH, coco_ids=[each.coco_id for each in categories])


#: An image with its objects, and with those that were found.
Seen = tuple[Drawn, Drawn]


def make_detection_step(model: tf.keras.Model, architecture: Architecture) -> DetectionStep:
    """Compile a step: (images, sizes) to detections."""

    @tf.function(autograph=False)
    def detection_step(images: tf.Tensor, sizes: tf.Tensor) -> Detections:
        return detect(model, images, sizes, architecture)

    compiled: DetectionStep = detection_step
    return compiled


def evaluate(
    step: DetectionStep, batches: Iterable[Batch], truth: Truth, seen: list[Seen] | None = None, keep: int = 0
) -> Evaluation:
    """Return the metrics on every rank; every rank must call it.

    Args:
        step: From `make_detection_step`.
        batches: This rank's part of the validation images.
        truth: Truth of all validation images.
        seen: Gets the first images of this rank with their detections. Default: none.
        keep: How many it gets.
    """
    own: list[ImageDetections] = []
    for batch in batches:
        watchdog.progress()
        own += _of_batch(step, batch, truth.coco_ids, seen, keep)
    found = gathered(own)

    def measured() -> tuple[int, dict[str, float]]:
        if not found:
            return 0, {}
        tested = coco_metrics.of_images(coco_metrics.read(truth.annotations), [each.image_id for each in found])
        return len(found), coco_metrics.metrics(tested, found)

    # Horovod: rank zero alone has all detections.
    images, results = on_rank_zero(measured)
    watchdog.progress()
    if not images:
        raise UserError("none of the validation images can be used; convert the data set again")
    for line in coco_metrics.table(results):
        say(line)
    return evaluation(images, results)


def evaluation(images: int, results: Mapping[str, float]) -> Evaluation:
    """Return the metrics for the loop: curves under the names of Detectron2, without those that are not a number."""
    known = {name: value for name, value in results.items() if np.isfinite(value)}
    shown = {words: known[name] for words, name in (("box AP", "bbox/AP"), ("mask AP", "segm/AP")) if name in known}
    figures = ", ".join(f"{words} {value:.4f}" for words, value in shown.items())
    return Evaluation(
        results={**results, "evaluated_images": images},
        accuracy=shown,
        sentence=f"{figures} of {images:,} images" if figures else f"no object in {images:,} images",
        curves=known,
    )


def gathered(own: Sequence[ImageDetections]) -> list[ImageDetections]:
    """Return the detections of all ranks on rank zero, and nothing on the others; every rank must call it."""
    found: list[ImageDetections] = []
    # Horovod: all ranks must send equally often.
    rounds = max(hvd.allgather_object(-(-len(own) // _CHUNK), name="rounds"))
    for start in range(0, rounds * _CHUNK, _CHUNK):
        watchdog.progress()
        of_ranks = hvd.allgather_object(own[start : start + _CHUNK], name="detections")
        if hvd.rank() == 0:
            found.extend(each for of_rank in of_ranks for each in of_rank)
    # In the order of the images, whatever rank had them: equal scores are counted in this order.
    return sorted(found, key=lambda each: each.image_id)


def _of_batch(
    step: DetectionStep, batch: Batch, coco_ids: Sequence[int], seen: list[Seen] | None, keep: int
) -> Iterable[ImageDetections]:
    found = Detections(*(part.numpy() for part in step(batch.images, batch.sizes)))
    # Those that only fill the batch are on another place, or another rank, too.
    for row in np.flatnonzero(batch.weights.numpy()):
        exists = found.labels[row] > 0
        of_image = Detections(*(part[row][exists] for part in found))
        size, original = (part[row].numpy() for part in (batch.sizes, batch.originals))
        if seen is not None and len(seen) < keep:
            seen.append(_seen(batch, row, size, of_image))
        yield in_image(int(batch.ids[row]), size, original, of_image, coco_ids)


def in_image(
    image_id: int, size: NDArray[np.int32], original: NDArray[np.int32], found: Detections, coco_ids: Sequence[int]
) -> ImageDetections:
    """Return an image's detections in pixels of the original and in COCO's ids.

    Args:
        image_id: COCO's.
        size: Height and width of the resized image.
        original: Those of the original.
        found: In pixels of the resized image, as NumPy arrays.
        coco_ids: COCO's category ids by label, from label 1.
    """
    height, width = original.tolist()
    boxes = pasted_masks.in_original(found.boxes, size, original)
    pasted = (pasted_masks.paste(mask, box, height, width) for mask, box in zip(found.masks, boxes, strict=True))
    return ImageDetections(
        image_id=image_id,
        height=height,
        width=width,
        boxes=boxes,
        scores=found.scores,
        categories=np.array(coco_ids, np.int64)[found.labels - 1],
        masks=[pasted_masks.encoded(pixels) for pixels in pasted],
    )


def _seen(batch: Batch, row: int, size: NDArray[np.int32], found: Detections) -> Seen:
    height, width = size.tolist()
    labels = batch.labels[row].numpy()
    objects = labels > 0
    boxes, masks = (part[row].numpy()[objects] for part in (batch.boxes, batch.masks))
    image = batch.images[row, :height, :width].numpy()
    truth = Drawn(image, boxes, labels[objects], np.ones(np.count_nonzero(objects)), masks)
    return truth, Drawn(image, found.boxes, found.labels, found.scores, found.masks)
