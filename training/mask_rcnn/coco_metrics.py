"""COCO's metrics of boxes and masks, by pycocotools: https://cocodataset.org/#detection-eval."""

import contextlib
import io
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from pycocotools import mask as rle
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from training.runtime import watchdog
from training.runtime.errors import UserError

#: The kinds of comparison, as Detectron2 and pycocotools name them.
KINDS = ("bbox", "segm")

#: The numbers of each kind, in the order of pycocotools. Precision (AP) over IoU 0.50 to 0.95, at 0.50, at 0.75; of
#: small, medium and large objects. Recall (AR) with at most 1, 10, 100 detections an image; of each size with 100.
PRECISION = ("AP", "AP50", "AP75", "APs", "APm", "APl")
NUMBERS = (*PRECISION, "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageDetections:
    """The detections in an image.

    Attributes:
        image_id: COCO's.
        height: Height of the original image.
        width: Width of the original image.
        boxes: y1, x1, y2, x2 in pixels of the original image (N x 4).
        scores: N numbers.
        categories: COCO's ids, N numbers.
        masks: Run-length encodings of the whole image, N strings.
    """

    image_id: int
    height: int
    width: int
    boxes: NDArray[Any]
    scores: NDArray[Any]
    categories: NDArray[Any]
    masks: Sequence[bytes]


def read(path: Path) -> dict[str, Any]:
    """Return the annotations of a file in COCO's format.

    Raises:
        UserError: It is missing or damaged.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        if not all(isinstance(content[name], list) for name in ("images", "annotations", "categories")):
            raise ValueError("it has no lists images, annotations, categories")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}); copy it again, or convert COCO again: python -m training.coco.convert "
            "--help"
        ) from error
    return content


def of_images(annotations: Mapping[str, Any], image_ids: Collection[int]) -> dict[str, Any]:
    """Return the annotations of some images: objects of skipped images are neither found nor missed.

    Raises:
        UserError: An image is not among those of the annotations.
    """
    chosen = set(image_ids)
    if unknown := sorted(chosen - {image["id"] for image in annotations["images"]}):
        raise UserError(
            f"image {unknown[0]} of the validation shards is not among the images of their annotations; convert COCO "
            "again: python -m training.coco.convert --help"
        )
    return {
        **annotations,
        "images": [image for image in annotations["images"] if image["id"] in chosen],
        "annotations": [each for each in annotations["annotations"] if each["image_id"] in chosen],
    }


def metrics(annotations: Mapping[str, Any], found: Sequence[ImageDetections]) -> dict[str, float]:
    """Return the 24 numbers of detections, such as "segm/AP50"; not a number where there is no object of that size.

    Args:
        annotations: Images, categories and objects as in COCO's instances_val2017.json.
        found: Detections; images without any may be missing. Images that are not in `annotations` count for nothing.
    """
    truth = _index({**annotations, "annotations": [dict(each) for each in annotations["annotations"]]})
    results: dict[str, float] = {}
    for kind in KINDS:
        watchdog.progress()
        stats = _evaluated(truth, _index(_as_coco(annotations, found, kind)), kind)
        results |= {f"{kind}/{name}": _number(value) for name, value in zip(NUMBERS, stats, strict=True)}
    return results


def table(results: Mapping[str, float]) -> list[str]:
    """Return the precisions in lines: a head and one for each kind."""
    lines = [f"{'':6}" + "".join(f"{name:>8}" for name in PRECISION)]
    for kind in KINDS:
        values = (results[f"{kind}/{name}"] for name in PRECISION)
        lines.append(f"{kind:6}" + "".join(f"{'none' if math.isnan(value) else f'{value:.4f}':>8}" for value in values))
    return lines


def _evaluated(truth: COCO, detections: COCO, kind: str) -> Sequence[float]:
    evaluation = COCOeval(truth, detections, kind)
    # It prints its progress, and its own table.
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation.evaluate()
        watchdog.progress()
        evaluation.accumulate()
        evaluation.summarize()
    return list(evaluation.stats)


def _number(value: float) -> float:
    # pycocotools has -1 where there is nothing to find.
    return math.nan if value < 0 else float(value)


def _index(dataset: Mapping[str, Any]) -> COCO:
    made = COCO()
    made.dataset = dict(dataset)
    with contextlib.redirect_stdout(io.StringIO()):
        made.createIndex()
    return made


def _as_coco(annotations: Mapping[str, Any], found: Sequence[ImageDetections], kind: str) -> dict[str, Any]:
    """Return detections as annotations. pycocotools' own loader ends with an error where there are none."""
    objects = [each for image in found for each in _objects(image, kind)]
    numbered = [{**each, "id": number} for number, each in enumerate(objects, start=1)]
    return {"images": annotations["images"], "categories": annotations["categories"], "annotations": numbered}


def _objects(image: ImageDetections, kind: str) -> list[dict[str, Any]]:
    sizes = (image.boxes[:, 2:] - image.boxes[:, :2])[:, ::-1]
    corners = image.boxes[:, 1::-1]
    masks = [{"size": [image.height, image.width], "counts": counts} for counts in image.masks]
    # Small, medium or large is a box by its area, and a mask by its pixels.
    areas = sizes.prod(axis=1) if kind == "bbox" else [float(rle.area(mask)) for mask in masks]
    return [
        {
            "image_id": image.image_id,
            "category_id": int(category),
            "bbox": [*corner.tolist(), *size.tolist()],
            "segmentation": mask,
            "area": float(area),
            "score": float(score),
            "iscrowd": 0,
        }
        for category, score, corner, size, mask, area in zip(
            image.categories, image.scores, corners, sizes, masks, areas, strict=True
        )
    ]
