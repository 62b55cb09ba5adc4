"""Which images go into which shard."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training.imagenet.convert.images import Image
from training.imagenet.convert.source import Source
from training.records.shard_files import TRAIN, VALIDATION, count_examples, shard_name
from training.runtime.errors import UserError

# The same for everyone: whoever converts the same images gets the same shards.
_SEED = 0

_OPTIONS = {TRAIN: "--train-shards", VALIDATION: "--validation-shards"}


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that is to be written."""

    path: Path
    images: Sequence[Image]

    def is_done(self, *, complete: bool) -> bool:
        """Whether it is there, with all images if it shall be complete, as far as its index and its size tell."""
        count = count_examples(self.path)
        return count is not None and (not complete or count == len(self.images))


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What is the same for every shard."""

    synsets: Sequence[str]
    """The classes, sorted."""
    short_side: int | None
    """Pixels; None leaves the images as large as they are."""
    skip: bool
    """Whether a shard is written without its bad images, and not left out for them."""


def make(source: Source, counts: Mapping[str, int], folder: Path) -> dict[str, list[Shard]]:
    """Deals each split's images out to so many shards, shuffled: each shard is a random sample of the classes.

    Raises:
        UserError: There would be empty shards.
    """
    shards = {}
    for split, count in counts.items():
        images = source.splits[split].images
        if count > len(images):
            raise UserError(
                f"'{_OPTIONS[split]}' is {count:,} but there are {len(images):,} images; give {len(images):,} or less"
            )
        order = np.random.default_rng(_SEED).permutation(len(images))
        shards[split] = [
            Shard(folder / shard_name(split, index, count), [images[at] for at in order[index::count]])
            for index in range(count)
        ]
    return shards


def fingerprint(shards: Mapping[str, Sequence[Shard]]) -> str:
    """Sums up which image is to be in which place: another order or another image gives another fingerprint."""
    lines = (
        f"{shard.path.name} {image.synset}/{image.name}\n"
        for split in shards.values()
        for shard in split
        for image in shard.images
    )
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode())
    return digest.hexdigest()[:16]
