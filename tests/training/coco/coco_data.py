"""Small datasets in COCO's format: archives as they are downloaded, folders, and converted shards."""

import copy
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from training.coco import shapes
from training.coco.convert import __main__ as convert
from training.records.conversion import shard_processes
from training.records.conversion.shard_plan import Shard
from training.records.conversion.shard_writer import Conversion

COUNTS = ("--train-shards", "2", "--validation-shards", "1")

CATEGORIES = [{"id": 3, "name": "car"}, {"id": 1, "name": "person"}]

#: 40 pixels high and 60 wide; columns 10 to 19 of all rows are a crowd.
CROWD = {"size": [40, 60], "counts": [400, 400, 1600]}


def jpeg(seed: int, height: int = 40, width: int = 60) -> bytes:
    corners = np.random.default_rng(seed).integers(0, 256, (1, 2, 2, 3))
    return bytes(tf.io.encode_jpeg(tf.cast(tf.image.resize(corners, [height, width])[0], tf.uint8)).numpy())


def annotation(number: int, image: int, **changed: Any) -> dict[str, Any]:
    """Return the square from 5, 10 to 25, 30 (x, y) of a person."""
    return {
        "id": number,
        "image_id": image,
        "category_id": 1,
        "iscrowd": 0,
        "area": 400.0,
        "bbox": [5, 10, 20, 20],
        "segmentation": [[5, 10, 25, 10, 25, 30, 5, 30]],
        **changed,
    }


def instances(first: int, images: int) -> dict[str, Any]:
    """Return annotations: the first image has a square and a crowd of cars, the second none, the others a square."""
    ids = range(first, first + images)
    crowd = annotation(99, first, category_id=3, iscrowd=1, bbox=[10, 0, 10, 40], segmentation=CROWD)
    return {
        "images": [{"id": each, "file_name": f"{each:012d}.jpg", "height": 40, "width": 60} for each in ids],
        "annotations": [crowd, *(annotation(each, each) for each in ids if each != first + 1)],
        "categories": copy.deepcopy(CATEGORIES),
    }


Change = Callable[[dict[str, Any]], object]


def contents(change: Change = lambda train: None) -> dict[str, bytes]:
    """Return the files by their paths: six training images and three validation images."""
    found = {}
    for split, first, count in (("train2017", 11, 6), ("val2017", 101, 3)):
        annotated = instances(first, count)
        for image in annotated["images"]:
            found[f"{split}/{image['file_name']}"] = jpeg(image["id"])
        if split == "train2017":
            change(annotated)
        found[f"annotations/instances_{split}.json"] = json.dumps(annotated).encode()
    return found


def write_folders(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def write_archives(folder: Path, files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    folder.mkdir(parents=True)
    names = {"train2017": "train2017", "val2017": "val2017", "annotations": "annotations_trainval2017"}
    for top, name in names.items():
        with zipfile.ZipFile(folder / f"{name}.zip", "w", method) as archive:
            archive.writestr(f"{top}/", b"")
            for path, content in files.items():
                if path.startswith(f"{top}/"):
                    archive.writestr(path, content)
    return folder


def write_here(conversion: Conversion, shards: Sequence[Shard], workers: int) -> Iterator[tuple[Shard, list[str]]]:
    """Write the shards in this process, which has imported TensorFlow, as `shard_processes.run` does in others."""
    for shard in shards:
        yield shard, conversion.write(shard)


def run(source: Path, output: Path, *arguments: str) -> int:
    """Convert in this process, and return the exit code."""
    given = ["--source", str(source), "--output-dir", str(output), "--workers", "2", *COUNTS, *arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_processes, "run", write_here)
        return convert.run(convert.parse(given))


def converted_shapes(folder: Path, images: int) -> Path:
    """Make shapes, convert them, and return the folder of the shards."""
    shapes.run(shapes.Settings(output_dir=folder / "made", images=images, seed=0))
    assert run(folder / "made", folder / "shards") == 0
    return folder / "shards"
