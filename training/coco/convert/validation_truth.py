"""The annotations that an evaluation compares with, as pycocotools reads them."""

import json
from pathlib import Path
from typing import Any

from training.coco.annotations import Annotations
from training.runtime.files import write_atomically

NAME = "instances_validation.json"


def write(folder: Path, annotations: Annotations, written: set[int]) -> None:
    """Write the annotations of the images that are in the shards, as they are in the source, each with `iscrowd`.

    Args:
        folder: With the shards.
        annotations: Annotations of the split.
        written: COCO's ids of the images in the shards.
    """
    images = [image for image_id, image in sorted(annotations.images.items()) if image_id in written]
    truth: dict[str, Any] = {
        "images": [image.entry for image in images],
        "annotations": [{**each.entry, "iscrowd": int(each.is_crowd)} for image in images for each in image.objects],
        "categories": [{"id": each.coco_id, "name": each.name} for each in annotations.categories],
    }
    write_atomically(folder / NAME, json.dumps(truth).encode())
