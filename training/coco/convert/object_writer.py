"""Write COCO's images as examples."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.coco import coco_example, image_sizes, object_masks, segmentation
from training.coco.annotations import AnnotatedImage, AnnotatedObject
from training.coco.coco_example import CROWD, RecordedObject
from training.coco.convert.coco_source import CocoImage
from training.records import shard_files
from training.records.conversion import complete_jpeg, shard_writer
from training.records.conversion.shard_plan import Shard
from training.records.conversion.source_images import DamagedImageError

# A box with such sides, in pixels, is that of an object with pixels.
_SURELY_PIXELS = 4


def write(shard: Shard, categories: int, *, skip: bool) -> list[str]:
    """Write a shard with the sizes of its images, and return its damaged images, each with the reason.

    Args:
        shard: The path and the images.
        categories: Their number.
        skip: Whether to write the shard without its damaged images; otherwise it is not written.

    Raises:
        UserError: The shard cannot be written.
    """
    sizes: list[tuple[int, int, int]] = []

    def encode(image: CocoImage) -> bytes:
        encoded = _encode(image)
        sizes.append((image.annotated.image_id, *image.annotated.shape))
        return encoded

    def save(path: Path, examples: Iterable[bytes]) -> None:
        def then_sizes() -> Iterator[bytes]:
            yield from examples
            # Before the shard gets its name: a shard needs its sizes.
            image_sizes.write(path, sizes)

        shard_files.write_shard(path, then_sizes(), categories, coco_example.labels)

    return shard_writer.write(shard, encode, save, skip=skip)


def _encode(image: CocoImage) -> bytes:
    jpeg = complete_jpeg.prepare(image.source.read())
    height, width = image.annotated.shape
    if (jpeg.height, jpeg.width) != (height, width):
        raise DamagedImageError(
            f"has {jpeg.width} x {jpeg.height} pixels, but {width} x {height} in {image.annotations}"
        )
    return coco_example.encode(
        jpeg=jpeg.content,
        image_id=image.annotated.image_id,
        height=height,
        width=width,
        objects=[_recorded(each, height, width) for each in _in_order(image.annotated)],
    )


def _in_order(image: AnnotatedImage) -> list[AnnotatedObject]:
    """Return large objects first and crowd regions last: a network that has no room for all omits the last ones."""
    return sorted(image.objects, key=lambda each: (each.is_crowd, -each.entry["area"], each.entry["id"]))


def _recorded(found: AnnotatedObject, height: int, width: int) -> RecordedObject:
    area = float(found.entry["area"])
    if found.is_crowd:
        return RecordedObject(found.box, CROWD, area, bytes(object_masks.PACKED))
    pixels = segmentation.rasterized(found.entry["segmentation"], height, width)
    if _is_elsewhere(pixels, found.box):
        raise DamagedImageError(f"has annotation {found.entry['id']} without a pixel of its segmentation in its box")
    return RecordedObject(found.box, found.label, area, object_masks.packed(pixels, found.box))


def _is_elsewhere(pixels: NDArray[np.uint8], box: tuple[float, float, float, float]) -> bool:
    """Return whether a mask has no pixel in its box; that of a thin or tiny object may have none at all."""
    y1, x1, y2, x2 = box
    inside = pixels[int(y1) : math.ceil(y2), int(x1) : math.ceil(x2)]
    return min(y2 - y1, x2 - x1) >= _SURELY_PIXELS and not inside.any()
