"""Write a shard from its images, and report the damaged ones."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import shard_files
from .image_header import MEGAPIXELS
from .shard_plan import Shard
from .source_images import DamagedImageError

if TYPE_CHECKING:
    import tensorflow as tf


class _NotWrittenError(Exception):
    """The shard is not written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversion:
    """The work of a dataset's converter on a shard; each process gets a copy.

    Its modules import TensorFlow within functions only: the processes must prepare themselves before.

    Attributes:
        classes: The largest allowed label.
        skip: Whether a shard is written without its damaged images; otherwise it is not written.
        megapixels: The largest image that is decoded.
    """

    classes: int
    skip: bool
    megapixels: int = MEGAPIXELS

    @abstractmethod
    def encode(self, image: Any) -> bytes:
        """Return an image as a serialized example.

        Raises:
            DamagedImageError: The image cannot be used.
        """

    @abstractmethod
    def labels(self, examples: "tf.Tensor") -> Iterable[int]:
        """Return all labels of a batch of serialized examples."""

    def write_beside(self, shard: Path, images: Sequence[Any]) -> None:
        """Write the other files of a shard with these images, before it gets its name."""

    def is_done(self, shard: Shard) -> bool:
        """Return whether the shard exists, and has all images unless damaged ones are skipped."""
        count = shard_files.count_examples(shard.path)
        return count is not None and (self.skip or count == len(shard.images))

    def write(self, shard: Shard) -> list[str]:
        """Write the shard and return its damaged images, each with the reason.

        Raises:
            UserError: The shard cannot be written.
        """
        damaged: list[str] = []
        with suppress(_NotWrittenError):
            shard_files.write_shard(shard.path, self._examples(shard, damaged), self.classes, self.labels)
        return damaged

    def _examples(self, shard: Shard, damaged: list[str]) -> Iterator[bytes]:
        written = []
        for image in shard.images:
            try:
                yield self.encode(image)
            except DamagedImageError as error:
                damaged.append(f"{image} {error}")
            else:
                written.append(image)
        if damaged and not self.skip:
            # At the end, to report all of them.
            raise _NotWrittenError
        self.write_beside(shard.path, written)
