"""The work of the processes of a conversion of COCO on a shard."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from training.coco import coco_example, image_sizes, object_masks, segmentation
from training.coco.annotations import AnnotatedImage, AnnotatedObject
from training.coco.coco_example import CROWD, RecordedObject
from training.coco.convert.coco_source import CocoImage
from training.records.conversion import shard_writer
from training.records.conversion.shard_plan import Shard
from training.records.conversion.source_images import DamagedImageError

if TYPE_CHECKING:
    import tensorflow as tf

# A box with such sides, in pixels, is that of an object with pixels.
_SURELY_PIXELS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversion(shard_writer.Conversion):
    """The settings that all shards share."""

    def is_done(self, shard: Shard) -> bool:
        """Return whether the shard and the sizes of its images are complete."""
        return shard_writer.Conversion.is_done(self, shard) and image_sizes.are_complete(shard.path)

    def encode(self, image: CocoImage) -> bytes:
        """Return an image and its objects as a serialized example."""
        # Here: it imports TensorFlow.
        from training.records.conversion import complete_jpeg

        jpeg = complete_jpeg.prepare(image.source.read(), megapixels=self.megapixels)
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

    def labels(self, examples: "tf.Tensor") -> Iterable[int]:
        """Return the labels of all objects of a batch of serialized examples."""
        return coco_example.labels(examples)

    def write_beside(self, shard: Path, images: Sequence[CocoImage]) -> None:
        """Write the sizes of the images: a shard needs them."""
        image_sizes.write(shard, [(each.annotated.image_id, *each.annotated.shape) for each in images])


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
