"""ImageNet's images and their classes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training.records.conversion.source_images import SourceImage


@dataclass(frozen=True, slots=True)
class Image(SourceImage):
    """An image and its class."""

    synset: str = field(kw_only=True)

    @property
    def identity(self) -> str:
        """Return the class and the file name."""
        return f"{self.synset}/{self.name}"


@dataclass(frozen=True, slots=True)
class Split:
    """The images of one split, sorted by class and name, so that archives and folders give the same shards."""

    place: Path
    """The archive or the folder with the images."""
    images: Sequence[Image]

    @property
    def synsets(self) -> list[str]:
        """Return the sorted classes of the images."""
        return sorted({image.synset for image in self.images})


def in_order(place: Path, images: Sequence[Image]) -> Split:
    """Return a split of images in any order."""
    return Split(place, sorted(images, key=lambda image: (image.synset, image.name)))
