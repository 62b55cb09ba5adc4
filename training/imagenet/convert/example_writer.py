"""Write ImageNet's images as examples."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from training.imagenet import imagenet_example
from training.imagenet.convert.class_images import Image
from training.records import shard_files
from training.records.conversion import complete_jpeg, shard_writer
from training.records.conversion.shard_plan import Shard


def write(shard: Shard, synsets: Sequence[str], *, short_side: int | None, skip: bool) -> list[str]:
    """Write a shard and return its damaged images, each with the reason.

    Args:
        shard: The path and the images.
        synsets: The sorted classes.
        short_side: Pixels; None resizes no image.
        skip: Whether to write the shard without its damaged images; otherwise it is not written.

    Raises:
        UserError: The shard cannot be written.
    """
    labels = {synset: label for label, synset in enumerate(synsets, start=1)}

    def encode(image: Image) -> bytes:
        jpeg = complete_jpeg.prepare(image.read(), short_side)
        return imagenet_example.encode(
            jpeg=jpeg.content,
            label=labels[image.synset],
            synset=image.synset,
            filename=image.name,
            height=jpeg.height,
            width=jpeg.width,
        )

    def save(path: Path, examples: Iterable[bytes]) -> None:
        shard_files.write_shard(path, examples, len(synsets), imagenet_example.labels)

    return shard_writer.write(shard, encode, save, skip=skip)
