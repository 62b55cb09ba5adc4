"""Where an image lies: a file of its own, or a range of an archive."""

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.runtime.errors import UserError


class DamagedImageError(Exception):
    """One image cannot be used; the others go on."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image and its class."""

    synset: str
    file: str
    """The image's file, or the archive."""
    member: str = ""
    """The path in the archive, and in the archive within it; empty for a file of its own."""
    offset: int = 0
    """Bytes from the archive's start."""
    size: int = 0
    """Bytes in the archive."""

    def __str__(self) -> str:
        return f"{self.file}: {self.member}" if self.member else self.file

    @property
    def name(self) -> str:
        """The file name without folders."""
        return os.path.basename(self.member or self.file)

    def read(self) -> bytes:
        """Reads the image.

        Raises:
            DamagedImageError: The file cannot be read.
            UserError: The archive cannot be read, and so no other image of it.
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
            raise UserError(f"{self.file} cannot be read ({error.strerror}); mend that, then start again") from error
        if len(content) != self.size:
            raise UserError(f"{self.file} has become shorter since it was listed; bring it back, then start again")
        return content


@functools.cache
def _open(file: str) -> int:
    # Open until the process ends: an archive is read a million times.
    return os.open(file, os.O_RDONLY)


@dataclass(frozen=True, slots=True)
class Split:
    """The images of one split, sorted by class and name, so that archives and folders give the same shards."""

    place: Path
    """The archive or the folder that they are in."""
    images: Sequence[Image]

    @property
    def synsets(self) -> list[str]:
        """The classes that there are images of, sorted."""
        return sorted({image.synset for image in self.images})


def in_order(place: Path, images: Sequence[Image]) -> Split:
    """Makes a split of images that were found in any order."""
    return Split(place, sorted(images, key=lambda image: (image.synset, image.name)))
