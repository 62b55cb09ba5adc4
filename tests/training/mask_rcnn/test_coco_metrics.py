import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.mask_rcnn import coco_metrics
from training.mask_rcnn.coco_metrics import ImageDetections
from training.mask_rcnn.pasted_masks import encoded
from training.runtime.errors import UserError

HEIGHT, WIDTH = 320, 200


def rectangle(y: int, x: int, height: int, width: int) -> bytes:
    pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
    pixels[y : y + height, x : x + width] = 1
    return encoded(pixels)


def objects(*corners: tuple[int, int, int], size: int = 100) -> dict[str, Any]:
    """Return annotations of squares: image, y and x of each."""
    return {
        "images": [{"id": number, "height": HEIGHT, "width": WIDTH} for number in (1, 2)],
        "categories": [{"id": 7, "name": "square"}, {"id": 9, "name": "never"}],
        "annotations": [
            {
                "id": number,
                "image_id": image,
                "category_id": 7,
                "bbox": [x, y, size, size],
                "area": size * size,
                "iscrowd": 0,
                "segmentation": [[x, y, x + size, y, x + size, y + size, x, y + size]],
            }
            for number, (image, y, x) in enumerate(corners, start=1)
        ],
    }


def detections(image: int, *found: tuple[float, int, int, int, int]) -> ImageDetections:
    """Return detections: score, y, x, height and width of each."""
    return ImageDetections(
        image_id=image,
        height=HEIGHT,
        width=WIDTH,
        boxes=np.array([[y, x, y + height, x + width] for _, y, x, height, width in found], np.float64).reshape(-1, 4),
        scores=np.array([score for score, *_ in found], np.float32),
        categories=np.full(len(found), 7),
        masks=[rectangle(*place) for _, *place in found],
    )


def test_a_case_worked_by_hand() -> None:
    """Three squares of 100 x 100: found exactly, not found, and found with an overlap of 0.72; and one false alarm.

    By score: right (0.9), wrong (0.8), right up to an IoU of 0.70 (0.7). Up to there the precision is 1 to a recall of
    1/3 and 2/3 to one of 2/3: of the 101 recalls 0, 0.01 … 1 that are 34 and 33, so AP = (34 + 33 x 2/3) / 101 =
    56/101. From 0.75 on it is 34/101. Five of the ten IoUs are up to 0.70: AP = 45/101. Recall: 2/3 and 1/3, mean 1/2.
    """
    truth = objects((1, 200, 10), (1, 20, 90), (2, 150, 60))
    found = [detections(1, (0.9, 200, 10, 100, 100), (0.8, 0, 0, 100, 100)), detections(2, (0.7, 150, 60, 72, 100))]
    results = coco_metrics.metrics(truth, found)
    for kind in ("bbox", "segm"):
        numbers = {name: results[f"{kind}/{name}"] for name in coco_metrics.NUMBERS}
        expected = {"AP": 45 / 101, "AP50": 56 / 101, "AP75": 34 / 101, "APl": 45 / 101}
        expected |= {"AR1": 0.5, "AR10": 0.5, "AR100": 0.5, "ARl": 0.5}
        assert {name: numbers[name] for name in expected} == pytest.approx(expected, abs=1e-9)
        # There is no such object.
        assert all(math.isnan(numbers[name]) for name in ("APs", "APm", "ARs", "ARm"))


def test_all_found_is_one_and_nothing_found_is_zero() -> None:
    truth = objects((1, 200, 10), (2, 150, 60))
    right = [detections(1, (0.9, 200, 10, 100, 100)), detections(2, (0.8, 150, 60, 100, 100))]
    assert coco_metrics.metrics(truth, right)["segm/AP"] == pytest.approx(1)
    for nothing in ([], [detections(1), detections(2)]):
        results = coco_metrics.metrics(truth, nothing)
        assert (results["bbox/AP"], results["segm/AP"], results["segm/AR100"]) == (0, 0, 0)
        assert math.isnan(results["bbox/APs"])
    assert len(results) == 24


def test_a_mask_is_small_by_its_pixels_and_a_box_by_its_area() -> None:
    # 30 x 30 pixels are small, and a false alarm is counted with those of its size.
    truth = objects((1, 100, 100), size=30)
    wide = detections(1, (0.9, 0, 0, 100, 100), (0.5, 100, 100, 30, 30))
    thin = ImageDetections(**{**as_fields(wide), "masks": [rectangle(0, 0, 10, 10), wide.masks[1]]})
    assert coco_metrics.metrics(truth, [wide])["segm/APs"] == pytest.approx(1)
    results = coco_metrics.metrics(truth, [thin])
    assert (results["bbox/APs"], results["segm/APs"]) == pytest.approx((1, 0.5))


def as_fields(given: ImageDetections) -> dict[str, Any]:
    return {name: getattr(given, name) for name in ImageDetections.__slots__}


def test_the_annotations_are_not_changed_and_a_crowd_is_no_miss() -> None:
    truth = objects((1, 200, 10), (2, 150, 60))
    crowd = {"size": [HEIGHT, WIDTH], "counts": rectangle(150, 60, 100, 100).decode()}
    truth["annotations"][1] |= {"iscrowd": 1, "segmentation": crowd}
    before = json.dumps(truth)
    results = coco_metrics.metrics(truth, [detections(1, (0.9, 200, 10, 100, 100))])
    assert (results["bbox/AP"], results["segm/AP"]) == pytest.approx((1, 1))
    assert json.dumps(truth) == before


def test_an_image_that_was_skipped_is_neither_found_nor_missed() -> None:
    truth = objects((1, 200, 10), (2, 150, 60))
    right = detections(1, (0.9, 200, 10, 100, 100))
    assert coco_metrics.metrics(coco_metrics.of_images(truth, [1]), [right])["segm/AP"] == pytest.approx(1)
    # Without objects, or without any that were found, it counts.
    assert coco_metrics.metrics(coco_metrics.of_images(truth, [1, 2]), [right])["segm/AP"] < 0.6


def test_an_image_without_annotations_is_a_users_error() -> None:
    with pytest.raises(UserError, match="image 3 of the validation shards is not among the images"):
        coco_metrics.of_images(objects((1, 200, 10)), [1, 3])


def test_the_table_has_a_line_for_each_kind() -> None:
    lines = coco_metrics.table(coco_metrics.metrics(objects((1, 200, 10)), []))
    assert lines == [
        "            AP    AP50    AP75     APs     APm     APl",
        "bbox    0.0000  0.0000  0.0000    none    none  0.0000",
        "segm    0.0000  0.0000  0.0000    none    none  0.0000",
    ]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"images": []}', '{"images": 1}'])
def test_annotations_that_cannot_be_read_are_a_users_error(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "instances_validation.json"
    if content:
        path.write_text(content)
    with pytest.raises(UserError, match=r"instances_validation\.json cannot be read \(.*\); copy it again"):
        coco_metrics.read(path)
