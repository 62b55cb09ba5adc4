"""The images of a source: each is a file, or a range of an archive."""

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.runtime.errors import UserError


class DamagedImageError(Exception):
    """One image is damaged; the others are converted."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image and its class."""

    synset: str
    file: str
    """The image's file, or the archive."""
    member: str = ""
    """The path in the archive and in its inner archive; empty for a separate file."""
    offset: int = 0
    """Bytes from the start of the archive."""
    size: int = 0
    """Bytes in the archive."""

    def __str__(self) -> str:
        return f"{self.file}: {self.member}" if self.member else self.file

    @property
    def name(self) -> str:
        """Return the file name without folders."""
        return os.path.basename(self.member or self.file)

    def read(self) -> bytes:
        """Return the content.

        Raises:
            DamagedImageError: The file cannot be read.
            UserError: The archive cannot be read, which concerns all its images.
        """
        if self.member:
            return self._read_range()
        try:
            return Path(self.file).read_bytes()
        except OSError as error:
            raise DamagedImageError(f"cannot be read ({error.strerror})") from error

    def _read_range(self) -> bytes:
        try:
            content = os.pread(_open(self.file), self.size, self.offset)
        except OSError as error:
            raise UserError(f"{self.file} cannot be read ({error.strerror}); fix that, then start again") from error
        if len(content) != self.size:
            raise UserError(f"{self.file} has become shorter since it was listed; restore it, then start again")
        return content


@functools.cache
def _open(file: str) -> int:
    # Open until the process ends: the program reads an archive a million times.
    return os.open(file, os.O_RDONLY)


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
