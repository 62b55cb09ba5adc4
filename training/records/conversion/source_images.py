"""The images of a source: each is a file, or a range of an archive."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from ...runtime import listing
from ...runtime.errors import UserError

# The number of names that a message shows.
_SHOWN = 5


class DamagedImageError(Exception):
    """One image is damaged; the others are converted."""


@dataclass(frozen=True, slots=True)
class SourceImage:
    """An image; a dataset adds its annotations."""

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
        return read_range(self.file, self.offset, self.size)


def content_of(folder: Path) -> str:
    """Return the first names in a folder, without hidden ones."""
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return listing.first(names, _SHOWN) or "nothing"


def read_range(file: str, offset: int, size: int) -> bytes:
    """Return a part of an archive, which stays open.

    Raises:
        UserError: The archive cannot be read, which concerns all its images.
    """
    try:
        content = os.pread(_open(file), size, offset)
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}); fix that, then start again") from error
    if len(content) != size:
        raise UserError(f"{file} has become shorter since it was listed; restore it, then start again")
    return content


@functools.cache
def _open(file: str) -> int:
    # Open until the process ends: the program reads an archive a million times.
    return os.open(file, os.O_RDONLY)
