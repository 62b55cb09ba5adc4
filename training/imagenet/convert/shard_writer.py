"""One shard: its images read, checked, and written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from training.imagenet.convert import jpeg
from training.imagenet.convert.images import DamagedImageError, Image
from training.imagenet.convert.plan import Shard, Work
from training.records import example, shard_files


class _LeftOutError(Exception):
    """The shard is not written."""


@dataclass(slots=True)
class _Examples:
    work: Work
    images: Sequence[Image]
    bad: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[bytes]:
        labels = {synset: label for label, synset in enumerate(self.work.synsets, start=1)}
        for image in self.images:
            try:
                content = jpeg.prepare(image.read(), self.work.short_side)
            except DamagedImageError as error:
                self.bad.append(f"{image} {error}")
                continue
            yield example.encode(
                jpeg=content.content,
                label=labels[image.synset],
                synset=image.synset,
                filename=image.name,
                height=content.height,
                width=content.width,
            )
        if self.bad and not self.work.skip:
            # At the end, so that all of them are told at once.
            raise _LeftOutError


def write(work: Work, shard: Shard) -> list[str]:
    """Writes a shard and returns its bad images, each with what is wrong.

    Raises:
        UserError: It cannot be written.
    """
    examples = _Examples(work, shard.images)
    try:
        shard_files.write_shard(shard.path, examples, len(work.synsets))
    except _LeftOutError:
        return examples.bad
    return examples.bad
