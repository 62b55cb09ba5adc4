"""Make a small data set in COCO's format: a network learns it in minutes, and a person sees whether it has.

python -m training.coco.shapes --output-dir data/shapes --images 320 --seed 0

It has circles, rectangles, triangles and stars with exact masks, crowd regions, and images without an object, in
train2017/, val2017/ (a quarter as many) and annotations/. Then: python -m training.coco.convert --help
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.coco import drawn_images
from training.coco.drawn_images import CATEGORIES, Drawing
from training.runtime import command_line, files, options
from training.runtime.command_line import path, whole_number
from training.runtime.errors import UserError
from training.runtime.files import write_atomically
from training.runtime.options import option

_SPLITS = ("train2017", "val2017")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    output_dir: Path = option(path, "folder for the images and annotations")
    images: int = option(whole_number(4, 100_000), "training images", default=320)
    seed: int = option(whole_number(0), "another seed, other images", default=0)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.coco.shapes", __doc__, arguments)


def run(settings: Settings) -> None:
    """Write both splits."""
    files.make_writable(settings.output_dir)
    for split, (name, count) in enumerate(zip(_SPLITS, (settings.images, settings.images // 4), strict=True)):
        drawings = [drawn_images.draw(settings.seed, split, number) for number in range(count)]
        folder = settings.output_dir / name
        _check_empty(folder, count)
        for number, drawing in enumerate(drawings, start=1):
            (folder / _file_name(number)).write_bytes(_jpeg(drawing))
        annotations = settings.output_dir / f"annotations/instances_{name}.json"
        annotations.parent.mkdir(exist_ok=True)
        write_atomically(annotations, json.dumps(_annotations(drawings)).encode())
        objects = sum(len(drawing.objects) for drawing in drawings)
        print(f"{name}: {count:,} images with {objects:,} objects and crowd regions", flush=True)


def _check_empty(folder: Path, count: int) -> None:
    """Reject a folder with other images: the converter would find no entry for them."""
    folder.mkdir(exist_ok=True)
    expected = {_file_name(number) for number in range(1, count + 1)}
    if other := next((path.name for path in folder.iterdir() if path.name not in expected), None):
        raise UserError(f"'--output-dir' is {folder.parent}, where {folder.name} has {other}; give another folder")


def _annotations(drawings: Sequence[Drawing]) -> dict[str, Any]:
    images: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    for number, drawing in enumerate(drawings, start=1):
        height, width, _ = drawing.pixels.shape
        images.append({"id": number, "file_name": _file_name(number), "height": height, "width": width})
        for each in drawing.objects:
            objects.append({"id": len(objects) + 1, "image_id": number, **each})
    names = [{"id": coco_id, "name": name} for coco_id, name in CATEGORIES.items()]
    return {"images": images, "annotations": objects, "categories": names}


def _file_name(number: int) -> str:
    return f"{number:012d}.jpg"


def _jpeg(drawing: Drawing) -> bytes:
    # Here: the help and errors come without TensorFlow.
    import tensorflow as tf

    return bytes(tf.io.encode_jpeg(drawing.pixels, quality=95).numpy())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return command_line.exit_code(lambda: run(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
