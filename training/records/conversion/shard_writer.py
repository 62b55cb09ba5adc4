"""Write a shard from its images, and report the damaged ones."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.records.conversion.shard_plan import Shard
from training.records.conversion.source_images import DamagedImageError


class _NotWrittenError(Exception):
    """The shard is not written."""


@dataclass(slots=True)
class _Examples:
    shard: Shard
    encode: Callable[[Any], bytes]
    skip: bool
    damaged: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[bytes]:
        for image in self.shard.images:
            try:
                yield self.encode(image)
            except DamagedImageError as error:
                self.damaged.append(f"{image} {error}")
        if self.damaged and not self.skip:
            # At the end, to report all of them.
            raise _NotWrittenError


def write(
    shard: Shard, encode: Callable[[Any], bytes], save: Callable[[Path, Iterable[bytes]], object], *, skip: bool
) -> list[str]:
    """Write a shard and return its damaged images, each with the reason.

    Args:
        shard: The path and the images.
        encode: Turns an image into a serialized example, or raises a `DamagedImageError`.
        save: Writes the examples to a path, as `shard_files.write_shard` does.
        skip: Whether to write the shard without its damaged images; otherwise it is not written.

    Raises:
        UserError: The shard cannot be written.
    """
    examples = _Examples(shard, encode, skip)
    try:
        save(shard.path, examples)
    except _NotWrittenError:
        return examples.damaged
    return examples.damaged
