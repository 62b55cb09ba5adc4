"""The work of the processes of a conversion of ImageNet on a shard."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from training.imagenet import imagenet_example
from training.imagenet.convert.class_images import Image
from training.records.conversion import shard_writer

if TYPE_CHECKING:
    import tensorflow as tf


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversion(shard_writer.Conversion):
    """The settings that all shards share.

    Attributes:
        numbers: Labels by the names of the classes.
        short_side: Pixels; None resizes no image.
    """

    numbers: Mapping[str, int]
    short_side: int | None

    def encode(self, image: Image) -> bytes:
        """Return an image as a serialized example."""
        # Here: it imports TensorFlow.
        from training.records.conversion import complete_jpeg

        jpeg = complete_jpeg.prepare(image.read(), self.short_side, megapixels=self.megapixels)
        return imagenet_example.encode(
            jpeg=jpeg.content,
            label=self.numbers[image.synset],
            synset=image.synset,
            filename=image.name,
            height=jpeg.height,
            width=jpeg.width,
        )

    def labels(self, examples: "tf.Tensor") -> Iterable[int]:
        """Return the labels of a batch of serialized examples."""
        return imagenet_example.labels(examples)
