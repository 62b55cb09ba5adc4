"""The plan of a conversion: the images of each shard."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ...runtime.errors import UserError
from ..shard_files import TRAIN, VALIDATION, shard_name

# Fixed: the same images always give the same shards.
_SEED = 0

_OPTIONS = {TRAIN: "--train-shards", VALIDATION: "--validation-shards"}


class PlannedImage(Protocol):
    """An image to convert."""

    @property
    def identity(self) -> str:
        """Return the identity of the image in its dataset, whether it comes from an archive or a folder."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard and its images."""

    path: Path
    images: Sequence[PlannedImage]


def make(
    splits: Mapping[str, Sequence[PlannedImage]], counts: Mapping[str, int], folder: Path
) -> dict[str, list[Shard]]:
    """Deal the shuffled images of each split to its shards: each shard is a random sample of the split.

    Raises:
        UserError: A split has more shards than images.
    """
    shards = {}
    for split, count in counts.items():
        images = splits[split]
        if count > len(images):
            raise UserError(
                f"'{_OPTIONS[split]}' is {count:,}, but there are {len(images):,} images; give {len(images):,} or less"
            )
        order = np.random.default_rng(_SEED).permutation(len(images))
        shards[split] = [
            Shard(folder / shard_name(split, index, count), [images[at] for at in order[index::count]])
            for index in range(count)
        ]
    return shards


def fingerprint(shards: Mapping[str, Sequence[Shard]]) -> str:
    """Return a hash of the images and their places: another order or another image gives another fingerprint."""
    lines = (
        f"{shard.path.name} {image.identity}\n"
        for split in shards.values()
        for shard in split
        for image in shard.images
    )
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode())
    return digest.hexdigest()[:16]
